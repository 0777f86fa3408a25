# A site with OmniAuth, set up as GitLab does it from its gitlab.rb, which shows the user's identifier and email address.
# Arguments: the file, and the port.
require 'omniauth_openid_connect'
require 'rack'
require 'rack/handler/webrick'

gitlab_rails = {}
eval File.read(ARGV[0])
settings = gitlab_rails['omniauth_providers'].first

# The test has no TLS.
SWD.url_builder = WebFinger.url_builder = URI::HTTP
OmniAuth.config.path_prefix = '/users/auth'
OmniAuth.config.allowed_request_methods = [:get]
OmniAuth.config.silence_get_warning = true

site = Rack::Builder.new do
  use Rack::Session::Cookie, secret: 'a secret of the test ' * 4
  use OmniAuth::Builder do
    provider :openid_connect, settings[:args]
  end
  run(lambda do |environment|
    user = environment['omniauth.auth']
    [200, {}, [user ? "#{user.uid} #{user.info.nickname} #{user.info.email}" : environment['QUERY_STRING']]]
  end)
end
Rack::Handler::WEBrick.run(site, Host: '127.0.0.1', Port: ARGV[1].to_i, AccessLog: [])
