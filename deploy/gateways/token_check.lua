-- Asks grantd whether a request may pass (haproxy.cfg). Takes the URL of the check and the public origin of the API.
local client = os.getenv("GRANTD_CLIENT")
local passed = { "authorization", "dpop" }
local received = { "x-auth-sub", "x-auth-client-id", "x-auth-scope" }

core.register_action("token_check", { "http-req" }, function(txn, url, origin)
  local sent = txn.http:req_get_headers()
  local headers = {
    ["x-grantd-client"] = { client },
    ["x-original-method"] = { txn.sf:method() },
    ["x-original-url"] = { origin .. txn.sf:pathq() },
  }
  for _, name in ipairs(passed) do
    -- Every line, so that grantd refuses a request with two tokens.
    for _, value in pairs(sent[name] or {}) do
      headers[name] = headers[name] or {}
      table.insert(headers[name], value)
    end
  end
  local answer = core.httpclient():get({ url = url, headers = headers })
  local values = answer.headers or {}
  local function first(name)
    return values[name] and values[name][0] or ""
  end
  txn:set_var("txn.token_status", answer.status or 0)
  txn:set_var("txn.token_challenge", first("www-authenticate"))
  for _, name in ipairs(received) do
    txn.http:req_set_header(name, first(name))
  end
end, 2)
