-- What must happen in one step. Called with the name of an operation and its arguments as JSON; `now` is in milliseconds,
-- what ends by `keepUntil` and `expiresAt` in seconds. Numbers are kept as text, in which they lose no digit.

local function key(kind, id) return '{grantd}:' .. kind .. ':' .. id end
local CLIENTS, DISABLED_CLIENTS = '{grantd}:clients', '{grantd}:disabled_clients'
local ORIGINS_OF_CLIENTS = '{grantd}:origins_of_clients'
local KEYS_BY_ID, KEY_ROLES, RETIRED_KEYS = '{grantd}:keys', '{grantd}:key_roles', '{grantd}:retired_keys'

-- Seconds by which the clocks of this server and of its callers may differ without anything being forgotten early.
local MARGIN = 3600

-- What a person's tokens copy; raising it ends them.
local function generationOf(subject)
  return subject and redis.call('HGET', key('person', subject), 'generation') or '0'
end

-- A token or code with all that its life depends on; what it does not have is false.
local function find(kind, id)
  local row = redis.call('HMGET', key(kind, id), 'record', 'revokedAtMs', 'supersededAtMs', 'successorId',
    'redeemedAtMs', 'clientId', 'subject', 'grantId', 'generation', 'expiresAt')
  if not row[1] then return nil end
  local client, subject, grant = row[6], row[7], row[8]
  return {
    record = row[1], revokedAtMs = row[2], supersededAtMs = row[3], successorId = row[4], redeemedAtMs = row[5],
    grantId = grant, generation = row[9], expiresAt = row[10],
    grantRevokedAtMs = grant and redis.call('HGET', key('grant', grant), 'revokedAtMs'),
    clientDisabledAtMs = redis.call('HGET', DISABLED_CLIENTS, client),
    personDisabledAtMs = subject and redis.call('HGET', key('person', subject), 'disabledAtMs'),
    personGeneration = generationOf(subject),
  }
end

local function isAlive(row, now)
  return not (row.revokedAtMs or row.grantRevokedAtMs or row.clientDisabledAtMs or row.personDisabledAtMs)
    and tonumber(row.generation) >= tonumber(row.personGeneration)
    and tonumber(row.expiresAt) * 1000 > now
end

local function admits(candidate)
  local clientId, subject = candidate.clientId, candidate.subject
  return redis.call('HEXISTS', CLIENTS, clientId) == 1
    and redis.call('HEXISTS', DISABLED_CLIENTS, clientId) == 0
    and not (subject and redis.call('HEXISTS', key('person', subject), 'disabledAtMs') == 1)
end

-- The tokens of a grant, each with the time until which it is kept, so that a revocation finds them.
local function keepGrant(grantId, keepUntil, now)
  local members = key('tokens_of', grantId)
  redis.call('HSETNX', key('grant', grantId), 'id', grantId)
  redis.call('ZREMRANGEBYSCORE', members, '-inf', math.floor(now / 1000) - MARGIN)
  for _, name in ipairs({ key('grant', grantId), members }) do
    if redis.call('EXPIRETIME', name) < keepUntil then redis.call('EXPIREAT', name, keepUntil) end
  end
end

local function store(kind, row)
  local fields = { 'generation', generationOf(row.subject) }
  for name, value in pairs(row) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  redis.call('HSET', key(kind, row.id), unpack(fields))
  redis.call('EXPIREAT', key(kind, row.id), row.keepUntil)
end

-- Checks everything before it writes anything, for nothing is taken back.
local function insert(tokens, now)
  local new = {}
  for _, token in ipairs(tokens) do
    if not admits(token) then return 'refused' end
    if new[token.id] or redis.call('EXISTS', key('token', token.id)) == 1 then
      return redis.error_reply('TAKEN a token with this identifier is stored already')
    end
    new[token.id] = true
  end
  for _, token in ipairs(tokens) do
    store('token', token)
    if token.grantId then
      redis.call('ZADD', key('tokens_of', token.grantId), token.keepUntil, token.id)
      keepGrant(token.grantId, tonumber(token.keepUntil), now)
    end
  end
  return 'issued'
end

local operations = {}

function operations.find(a)
  local row = find(a.kind, a.id)
  return row and cjson.encode(row)
end

function operations.issue(a) return insert(a.tokens, a.now) end

function operations.issueUpon(a)
  local row = find('token', a.id)
  if not row or not isAlive(row, a.now) then return 'refused' end
  if row.supersededAtMs then return 'superseded' end
  local outcome = insert(a.tokens, a.now)
  if outcome == 'issued' and a.successorId then
    redis.call('HSET', key('token', a.id), 'supersededAtMs', a.nowText, 'successorId', a.successorId)
  end
  return outcome
end

function operations.issueCode(a)
  if not admits(a.code) then return 'refused' end
  if redis.call('EXISTS', key('code', a.code.id)) == 1 then
    return redis.error_reply('TAKEN a code with this identifier is stored already')
  end
  store('code', a.code)
  keepGrant(a.code.grantId, tonumber(a.code.keepUntil), a.now)
  return 'issued'
end

function operations.redeem(a)
  local row = find('code', a.id)
  if row and row.redeemedAtMs then return 'already_redeemed' end
  if not row or not isAlive(row, a.now) then return 'refused' end
  local outcome = insert(a.tokens, a.now)
  if outcome == 'issued' then
    redis.call('HSET', key('code', a.id), 'redeemedAtMs', a.nowText)
    -- As long as what it has led to, so that its reuse is noticed.
    redis.call('EXPIREAT', key('code', a.id), redis.call('EXPIRETIME', key('grant', row.grantId)))
  end
  return outcome
end

function operations.revokeGrant(a)
  if redis.call('EXISTS', key('grant', a.id)) == 1 then
    redis.call('HSETNX', key('grant', a.id), 'revokedAtMs', a.nowText)
  end
end

-- Ends a token with its pair, and these of its family, each with its pair.
function operations.revokeTokens(a)
  local members = a.grantId and redis.call('ZRANGE', key('tokens_of', a.grantId), 0, -1) or { a.id }
  local rows, pairs_ended = {}, { [a.pairId or false] = a.pairId ~= nil }
  for _, id in ipairs(members) do
    local kind, family, pair, superseded =
      unpack(redis.call('HMGET', key('token', id), 'kind', 'familyId', 'pairId', 'supersededAtMs'))
    local isOfFamily = a.familyId and family == a.familyId
      and (a.wholeFamily or (kind == 'refresh_token' and not superseded))
    if isOfFamily and pair then pairs_ended[pair] = true end
    if kind then rows[#rows + 1] = { id = id, pair = pair, isEnded = isOfFamily or id == a.id } end
  end
  for _, row in ipairs(rows) do
    if row.isEnded or pairs_ended[row.pair] then
      redis.call('HSETNX', key('token', row.id), 'revokedAtMs', a.nowText)
    end
  end
end

function operations.takeIdentifier(a)
  local name = key('one_time', a.id)
  if tonumber(redis.call('GET', name) or 0) * 1000 > a.now then return 0 end
  redis.call('SET', name, a.expiresAt, 'EXAT', a.expiresAt + MARGIN)
  return 1
end

-- Also one that is over is found, and told from one that never was.
local function keepPending(name, otherKey, expiresAt)
  redis.call('EXPIREAT', name, expiresAt + MARGIN)
  if otherKey then redis.call('EXPIREAT', key('pending_by_other_id', otherKey), expiresAt + MARGIN) end
end

local function shownPending(row)
  return row[1] and cjson.encode({ record = row[1], version = row[2] })
end

function operations.addPending(a)
  local name, other = key('pending', a.key), key('pending_by_other_id', a.otherKey or '')
  if redis.call('EXISTS', name) == 1 or redis.call('EXISTS', other) == 1 then return 0 end
  redis.call('HSET', name, 'record', a.record, 'version', '0')
  if a.otherKey then
    redis.call('HSET', name, 'otherKey', a.otherKey)
    redis.call('SET', other, a.key)
  end
  keepPending(name, a.otherKey, a.expiresAt)
  return 1
end

function operations.findPending(a)
  local found = a.key or redis.call('GET', key('pending_by_other_id', a.otherKey))
  return found and shownPending(redis.call('HMGET', key('pending', found), 'record', 'version'))
end

function operations.takePending(a)
  local name = key('pending', a.key)
  local row = redis.call('HMGET', name, 'record', 'version', 'otherKey')
  redis.call('DEL', name, key('pending_by_other_id', row[3] or ''))
  return shownPending(row)
end

function operations.changePending(a)
  local name = key('pending', a.key)
  local row = redis.call('HMGET', name, 'version', 'otherKey')
  if row[1] ~= a.version then return 0 end
  redis.call('HSET', name, 'record', a.record, 'version', a.next)
  keepPending(name, row[2], a.expiresAt)
  return 1
end

function operations.findClient(a)
  local record = redis.call('HGET', CLIENTS, a.id)
  return record and cjson.encode({ record = record, disabledAtMs = redis.call('HGET', DISABLED_CLIENTS, a.id) })
end

function operations.hasOrigin(a)
  for _, id in ipairs(redis.call('SMEMBERS', key('clients_of_origin', a.origin))) do
    if redis.call('HEXISTS', DISABLED_CLIENTS, id) == 0 then return 1 end
  end
  return 0
end

local function replaceOrigins(id, origins)
  local previous = redis.call('HGET', ORIGINS_OF_CLIENTS, id)
  for _, origin in ipairs(previous and cjson.decode(previous) or {}) do
    redis.call('SREM', key('clients_of_origin', origin), id)
  end
  redis.call('HDEL', ORIGINS_OF_CLIENTS, id)
  for _, origin in ipairs(origins) do
    redis.call('SADD', key('clients_of_origin', origin), id)
    redis.call('HSET', ORIGINS_OF_CLIENTS, id, cjson.encode(origins))
  end
end

function operations.saveClient(a)
  if redis.call('HEXISTS', CLIENTS, a.id) == 0 and redis.call('HEXISTS', DISABLED_CLIENTS, a.id) == 1 then
    return redis.error_reply('REMOVED a client that was removed had this identifier')
  end
  replaceOrigins(a.id, a.origins)
  redis.call('HSET', CLIENTS, a.id, a.record)
end

-- For good: the tokens of the removed client would live again with another one of its identifier.
function operations.removeClient(a)
  replaceOrigins(a.id, {})
  redis.call('HSETNX', DISABLED_CLIENTS, a.id, a.nowText)
  redis.call('HDEL', CLIENTS, a.id)
end

function operations.disablePerson(a) redis.call('HSETNX', key('person', a.id), 'disabledAtMs', a.nowText) end

function operations.enablePerson(a) redis.call('HDEL', key('person', a.id), 'disabledAtMs') end

function operations.signOut(a) redis.call('HINCRBY', key('person', a.id), 'generation', 1) end

function operations.listKeys()
  local rows = {}
  for _, kid in ipairs(redis.call('HKEYS', KEYS_BY_ID)) do
    local record, retiredAtMs = redis.call('HGET', KEYS_BY_ID, kid), redis.call('HGET', RETIRED_KEYS, kid)
    local isCurrent = redis.call('HGET', KEY_ROLES, 'current ' .. cjson.decode(record).algorithm) == kid
    local status = retiredAtMs and 'retired' or isCurrent and 'current' or 'next'
    rows[#rows + 1] = cjson.encode({ record = record, status = status, retiredAtMs = retiredAtMs })
  end
  return rows
end

function operations.currentKey(a) return redis.call('HGET', KEY_ROLES, 'current ' .. a.algorithm) end

function operations.initializeKeys(a)
  local missing = {}
  for _, one in ipairs(a.keys) do
    missing[one.algorithm] = redis.call('HEXISTS', KEY_ROLES, 'current ' .. one.algorithm) == 0
  end
  for _, one in ipairs(a.keys) do
    if missing[one.algorithm] then
      redis.call('HSET', KEYS_BY_ID, one.kid, one.record)
      redis.call('HSET', KEY_ROLES, one.status .. ' ' .. one.algorithm, one.kid)
    end
  end
end

function operations.rotateKey(a)
  local current, next = 'current ' .. a.next.algorithm, 'next ' .. a.next.algorithm
  if redis.call('HGET', KEY_ROLES, current) ~= a.currentKid then return 0 end
  redis.call('HSET', RETIRED_KEYS, a.currentKid, a.nowText)
  redis.call('HSET', KEYS_BY_ID, a.next.kid, a.next.record)
  redis.call('HSET', KEY_ROLES, current, redis.call('HGET', KEY_ROLES, next), next, a.next.kid)
  return 1
end

return operations[ARGV[1]](cjson.decode(ARGV[2]))
