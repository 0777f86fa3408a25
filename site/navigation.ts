// Every page of the website. docs/README.md and the website's sidebar are made from this table.

export interface Page {
  /** In the repository. */
  readonly path: string;
  /** What a reader finds there, as a continuation of "to". Pages of the reference have none. */
  readonly to?: string;
  /** In the sidebar. Default: the page's heading. Pages that are built need one. */
  readonly title?: string;
}

export interface Part {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** The four kinds of documentation: to learn, to do, to look up, to understand. */
export const PARTS: readonly Part[] = [
  {
    title: 'Tutorials',
    pages: [
      { path: 'README.md', title: 'Try grantd', to: 'start grantd and revoke a token in one minute' },
      { path: 'docs/tutorials/web_application.md', to: 'let users of your web application sign in' },
      { path: 'docs/tutorials/passport.md', to: 'let users sign in with Passport' },
      { path: 'docs/tutorials/authjs.md', to: 'let users sign in with Auth.js' },
      {
        path: 'docs/tutorials/single_page_application.md',
        to: 'let users sign in to a page without a server of its own',
      },
      {
        path: 'docs/tutorials/native_application.md',
        to: 'let users sign in to an app on a phone or a computer',
      },
      {
        path: 'docs/tutorials/command_line.md',
        to: 'let users sign in to a command line, with a browser or a code',
      },
      { path: 'docs/tutorials/protected_api.md', to: 'check tokens in your API' },
      { path: 'docs/tutorials/machine.md', to: 'call an API from a program without a user' },
      {
        path: 'docs/tutorials/embedded_express.md',
        to: 'let other applications sign in the users of your Express application',
      },
      { path: 'examples/README.md', to: 'copy an example host or API that runs unchanged' },
    ],
  },
  {
    title: 'How-to guides',
    pages: [
      {
        path: 'docs/production.md',
        to: 'serve at an https address, with systemd, in containers or on Kubernetes, on SQLite or PostgreSQL',
      },
      { path: 'docs/monitoring.md', to: 'watch grantd with metrics, traces and alerts' },
      { path: 'docs/clients.md', to: 'connect Auth.js, Spring, oauth2-proxy and other clients' },
      {
        path: 'docs/workloads.md',
        to: 'let workloads on Kubernetes, GitHub Actions and SPIFFE authenticate without a secret',
      },
      { path: 'docs/jwt_bearer.md', to: 'let clients act for users by tokens of other issuers' },
      { path: 'docs/gateways.md', to: 'check tokens in nginx, Caddy, Traefik, Envoy or HAProxy' },
      {
        path: 'docs/resource_servers.md',
        to: 'define the scopes of an API, and the clients that may use it',
      },
      { path: 'docs/token_exchange.md', to: 'let services call services for a user' },
      { path: 'docs/backup.md', to: 'back up and restore an SQLite database' },
      { path: 'docs/upgrades.md', to: 'upgrade to a new version, and go back' },
      { path: 'docs/secrets.md', to: 'rotate signing keys, client secrets and the server’s secret' },
      { path: 'docs/sign_in.md', to: 'change what users see, and how long they stay signed in' },
      { path: 'docs/branding.md', to: 'give the pages your logo, colours, texts and languages' },
      {
        path: 'docs/self_service.md',
        title: 'Let users sign up and reset passwords',
        to: 'let users sign up and reset their passwords',
      },
      { path: 'docs/passkeys.md', to: 'let users sign in with passkeys and second factors' },
      { path: 'docs/users.md', to: 'add, change and group users' },
      { path: 'docs/import.md', to: 'bring users with their passwords from another program' },
      {
        path: 'docs/sign_in_problems.md',
        to: 'help a user who cannot sign in, and block addresses with fail2ban',
      },
      { path: 'docs/personal_tokens.md', to: 'let users make tokens for their scripts' },
      { path: 'docs/end_access.md', to: 'end all access of a user, or of a service' },
      { path: 'docs/directory.md', to: 'let users of an LDAP directory sign in' },
      { path: 'docs/providers.md', to: 'let users sign in with another provider' },
      { path: 'docs/application_claims.md', to: 'add roles, groups or a tenant to tokens' },
      { path: 'docs/admin_api.md', title: 'Manage grantd over HTTP', to: 'manage grantd over HTTP' },
      {
        path: 'docs/audit.md',
        title: 'Find out who changed what',
        to: 'find out who changed what, and prove it',
      },
      { path: 'docs/console.md', to: 'explain tokens and end access in a browser' },
      {
        path: 'docs/apply.md',
        title: 'Keep clients in a file',
        to: 'keep groups, clients and APIs in a file',
      },
      { path: 'docs/registration.md', to: 'let clients register themselves' },
      { path: 'docs/mcp.md', to: 'let AI agents use your MCP server' },
      {
        path: 'docs/bound_tokens.md',
        to: 'bind tokens to a client’s key, and authenticate clients by certificates',
      },
      { path: 'docs/fapi.md', to: 'require FAPI 2.0' },
      { path: 'docs/rich_authorization_requests.md', to: 'grant single rights, such as one payment' },
      {
        path: 'docs/embedding.md',
        title: 'Put grantd’s pages into your application',
        to: 'add grantd’s pages to your own application, for your own users',
      },
      {
        path: 'docs/library.md',
        title: 'Embed the library',
        to: 'add the endpoints to your own application, for its own tokens or for tokens of grantd',
      },
      {
        path: 'docs/hosts.md',
        title: 'Mount the endpoints in your framework',
        to: 'mount the endpoints in Express, NestJS, Next.js and other frameworks',
      },
      { path: 'docs/migration.md', to: 'use your present library’s tokens, or replace it' },
    ],
  },
  {
    title: 'Reference',
    pages: [
      { path: 'docs/commands.md', title: 'Commands' },
      { path: 'docs/configuration.md' },
      { path: 'docs/http.md', title: 'HTTP' },
      { path: 'docs/follow.md' },
      { path: 'docs/client_metadata.md' },
      { path: 'docs/errors.md', title: 'Errors' },
      { path: 'docs/reason_codes.md', title: 'Reason codes' },
      { path: 'docs/troubles.md', title: 'What the overview calls wrong' },
      { path: 'docs/events.md' },
      { path: 'docs/public_names.md' },
      { path: 'protect/README.md' },
      { path: 'docs/specification.md' },
      { path: 'docs/standards.md' },
      { path: 'docs/certification.md', title: 'Certification' },
      { path: 'docs/runtimes.md' },
      { path: 'CHANGELOG.md' },
    ],
  },
  {
    title: 'Explanations',
    pages: [
      { path: 'docs/promises.md', to: 'see what grantd promises, and when a promise does not hold' },
      { path: 'docs/comparison.md', to: 'see what grantd does not do, and what other servers do' },
      {
        path: 'SECURITY.md',
        title: 'Security and threat model',
        to: 'see which attackers grantd stops, and how',
      },
      {
        path: 'docs/reliability.md',
        to: 'see what grantd guarantees through crashes and failovers, and how we test it',
      },
      {
        path: 'docs/performance.md',
        to: 'see how fast grantd is on one core, what to tune, and how to plan for millions of users',
      },
      {
        path: 'docs/scale.md',
        to: 'see what millions of tokens cost, and where 100 million users meet the first limit',
      },
      { path: 'GLOSSARY.md', to: 'look up a term' },
      { path: 'docs/adr/README.md', to: 'read why we decided something' },
      { path: 'CONTRIBUTING.md', to: 'change grantd, and see how a request flows through the code' },
    ],
  },
];

/** Folders whose pages are reached from another page. The sidebar leaves them out. */
export const FOLDERS = ['docs/adr', 'docs/specs'] as const;

/** The address of the reference of the packages' TypeScript interfaces. Only the website has it. */
export const API_FOLDER = 'api';
