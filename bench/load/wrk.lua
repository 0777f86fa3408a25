-- Steps through a file of requests and counts what is answered, by the answers that were expected.
-- Arguments: FILE FROM COUNT [NAME STATUS TEXT]…; COUNT 0 is no limit. Everything that is per request is as little as
-- can be: one string that was made beforehand, one search in the answer.
local find = string.find
local requests, known = {}, 0
local answers = {}
local limit = 0

-- Global, since the main thread reads them when all is over.
sent, position, counted, wrong, first_wrong, ticks_at_start = 0, 0, 0, 0, "", 0

local function ticks()
  local stat = io.open("/proc/self/stat")
  if not stat then return -1 end
  local fields = stat:read("*a"):match("%) (.*)")
  stat:close()
  local at, sum = 0, 0
  for field in fields:gmatch("%S+") do
    at = at + 1
    if at == 12 or at == 13 then sum = sum + tonumber(field) end
  end
  return sum
end

local function read_requests(path)
  local file = assert(io.open(path, "rb"))
  local length = file:read("*n")
  while length do
    file:read(1) -- the end of the line
    known = known + 1
    requests[known] = file:read(length)
    length = file:read("*n")
  end
  file:close()
end

function init(arguments)
  read_requests(arguments[1])
  position = tonumber(arguments[2])
  limit = tonumber(arguments[3])
  for i = 4, #arguments, 3 do
    answers[#answers + 1] = { name = arguments[i], status = tonumber(arguments[i + 1]), text = arguments[i + 2] }
    _G["right_" .. #answers] = 0
  end
  collectgarbage()
  ticks_at_start = ticks()
end

function request()
  position = position + 1
  sent = sent + 1
  return requests[(position - 1) % known + 1]
end

local function is(answer, status, body)
  if status ~= answer.status then return false end
  if answer.text == "" then return body == "" end
  return find(body, answer.text, 1, true) ~= nil
end

function response(status, headers, body)
  counted = counted + 1
  if counted == limit then
    -- wrk itself sleeps until its time is over; whoever started it ends that.
    io.write("= enough\n")
    io.flush()
    wrk.thread:stop()
  end
  if is(answers[1], status, body) then
    right_1 = right_1 + 1
    return
  end
  for i = 2, #answers do
    if is(answers[i], status, body) then
      local name = "right_" .. i
      _G[name] = _G[name] + 1
      return
    end
  end
  wrong = wrong + 1
  if first_wrong == "" then first_wrong = status .. " " .. body:sub(1, 400) end
end

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

function done(summary, latency)
  local thread = threads[1]
  local busy = ticks() - thread:get("ticks_at_start")
  local function line(name, value) io.write("= ", name, " ", value, "\n") end
  line("sent", thread:get("sent"))
  line("wrong", thread:get("wrong"))
  line("first_wrong", (thread:get("first_wrong"):gsub("[%c]", " ")))
  local i = 1
  while thread:get("right_" .. i) do
    line("right_" .. i, thread:get("right_" .. i))
    i = i + 1
  end
  local errors = summary.errors
  line("errors", errors.connect + errors.read + errors.write + errors.timeout)
  line("microseconds", summary.duration)
  for _, percentile in ipairs({ 50, 90, 99 }) do line("p" .. percentile, latency:percentile(percentile)) end
  line("max", latency.max)
  if busy >= 0 then line("ticks", busy) end
end
