import COpenSSL

/// A script that Redis runs atomically. It is sent by its hash, and by its text if Redis does not
/// know it yet.
struct RedisScript: Sendable {
  let text: String
  let hash: String

  /// `isMore` marks a script that adds work, which a full Redis refuses. Any other script begins
  /// with a write that needs no memory, and is not refused.
  init(_ body: String, isMore: Bool = false) {
    text = Self.start + (isMore ? "" : Self.firstWrite) + body
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha1(), nil)
    hash = digest.hex
  }

  /// At `maxmemory` Redis checks only the first write of a script.
  private static let firstWrite = "call('XACK', input, 'relay', '0-0')\n"

  /// The keys of an app. They share a hash tag, so that a cluster keeps them together.
  static let keys = [
    "in", "out", "gone", "dead", "later", "ids", "histories", "deferrals", "workers", "readers",
    "worker_ids", "bad_tokens", "feedback", "app_state", "connections", "lines", "targets",
    "suspects", "urgent", "bulk", "later_urgent", "later_bulk", "campaigns", "gone_at", "wake",
  ]

  /// The common start of all scripts.
  ///
  /// `ids` has a text for each ID: `owner|last|positions`. `owner` is the entry's number in the
  /// stream, "." once the entry is finished, or empty if Redis lost it in a crash; `last` is the
  /// number of its last record in `out`; `positions` have an outcome, in the format of
  /// `PositionSet`. For a finished entry they are the number of its dead letter if it has one.
  private static let start = #"""
    local APART, PAUSE, LONG_PAUSE = 2, 4000, 8000
    local input, out, gone, dead, later, ids, histories, deferrals, workers, readers, worker_ids,
      bad_tokens, feedback, app_state, connections, lines, targets, suspects, urgent, bulk,
      later_urgent, later_bulk, campaigns, gone_at, wake = unpack(KEYS)
    local call = redis.call

    -- Idle relays wait for an entry of this stream, or of a lane's.
    local function tell() call('XADD', wake, 'MAXLEN', 1, '*', 'at', '') end

    -- Each lane has a stream. An entry is known by its number in that, with the lane's mark before
    -- it, because two streams may have the same number.
    local LANES = {
      {name = 'urgent', mark = 'u', stream = urgent, later = later_urgent},
      {name = 'normal', mark = '', stream = input, later = later},
      {name = 'bulk', mark = 'b', stream = bulk, later = later_bulk},
    }
    local LANE_OF = {u = LANES[1], b = LANES[3]}

    -- The lane of an entry, and its number there.
    local function lane_of(entry)
      local lane = LANE_OF[string.sub(entry, 1, 1)]
      if lane then return lane, string.sub(entry, 2) end
      return LANES[2], entry
    end

    local function fields_of(entry)
      local lane, number = lane_of(entry)
      return call('XRANGE', lane.stream, number, number)[1]
    end

    local function pending_of(entry)
      local lane, number = lane_of(entry)
      return call('XPENDING', lane.stream, 'relay', number, number, 1)[1]
    end

    local function map_of(list)
      local map = {}
      for index = 1, #list, 2 do map[list[index]] = list[index + 1] end
      return map
    end

    local function split(text) return string.match(text, '^([^|]*)|([^|]*)|(.*)$') end

    local function known(id)
      local text = call('HGET', ids, id)
      if text then return split(text) end
    end

    -- Each worker is a consumer of the streams' groups. The consumer "waiting" has entries that were
    -- claimed once and wait for another worker: they are in "later", or that of their lane.
    local function ensure_groups()
      for _, lane in ipairs(LANES) do
        local summary = redis.pcall('XPENDING', lane.stream, 'relay')
        if summary.err then
          if not string.find(summary.err, 'NOGROUP', 1, true) then error(summary.err, 0) end
          call('XGROUP', 'CREATE', lane.stream, 'relay', '0', 'MKSTREAM')
        end
      end
    end

    -- The first entry of a lane that no worker was given yet.
    local function first_new(lane)
      for _, one in ipairs(call('XINFO', 'GROUPS', lane.stream)) do
        local group = map_of(one)
        if group['name'] == 'relay' then
          return call('XRANGE', lane.stream, '(' .. group['last-delivered-id'], '+', 'COUNT', 1)[1]
        end
      end
    end

    -- If an app keeps the order, "lines" has the entries that wait for each device or channel, as
    -- `target|number of the entry`, which sort in queue order, and "targets" has the targets of
    -- each entry. A lane's mark is before its targets. A blocked entry has a due time that never
    -- comes, after all others.
    local BLOCKED = 4e15
    local has_lines = call('EXISTS', targets) == 1

    local function place_in_line(target, entry)
      local time, count = string.match(entry, '(%d+)%-(%d+)$')
      return target .. '|' .. string.rep('0', 15 - #time) .. time
        .. '-' .. string.rep('0', 20 - #count) .. count
    end

    local function entry_at(place)
      local time, count = string.match(place, '|0*(%d+)%-0*(%d+)$')
      return (string.match(place, '^([ub]):') or '') .. time .. '-' .. count
    end

    -- The score in "later" of an entry that waits for another worker: before new ones, in queue
    -- order. Deferred entries have their due time as score, which is above 0.
    local function again(entry)
      return string.format('%.0f', tonumber(string.match(entry, '%d+')) - 1e15)
    end

    -- When an entry ends in any way, the next entries in its lines are checked again.
    local function leave_lines(entry)
      local own = has_lines and call('HGET', targets, entry)
      if not own then return end
      call('HDEL', targets, entry)
      for target in string.gmatch(own, '%S+') do
        local place = place_in_line(target, entry)
        call('ZREM', lines, place)
        local behind = call('ZRANGEBYLEX', lines, '(' .. place, '(' .. target .. '}', 'LIMIT', 0, 1)[1]
        local next = behind and entry_at(behind)
        local waiting = next and lane_of(next).later
        local time = next and call('ZSCORE', waiting, next)
        if time and tonumber(time) >= BLOCKED then
          call('ZADD', waiting, again(next), next)
        end
      end
    end

    -- Suspects are in "later", whatever their lane.
    local function wait_no_more(entry)
      local lane = lane_of(entry)
      call('ZREM', lane.later, entry)
      if lane.later ~= later then call('ZREM', later, entry) end
    end

    local function forget(entry)
      leave_lines(entry)
      local lane, number = lane_of(entry)
      call('XACK', lane.stream, 'relay', number)
      call('XDEL', lane.stream, number)
      wait_no_more(entry)
      call('HDEL', histories, entry)
      call('HDEL', deferrals, entry)
      call('HDEL', suspects, entry, 'answered ' .. entry)
    end

    -- After those, and before deferred ones: entries that were in crashes together with others, the
    -- least suspicious first.
    local function apart(entry, crashes)
      return string.format('%.0f', tonumber(again(entry)) + math.min(crashes, 90) * 1e13)
    end

    local function put_back(entry, deliveries, place, line, is_suspect)
      local lane, number = lane_of(entry)
      call('XCLAIM', lane.stream, 'relay', 'waiting', 0, number, 'RETRYCOUNT', deliveries, 'JUSTID')
      call('ZADD', is_suspect and later or lane.later, place, entry)
      if line ~= '' then
        local before = call('HGET', histories, entry)
        call('HSET', histories, entry, before and before .. '\n' .. line or line)
      end
    end

    -- Numbered by the time in microseconds, or one more than the last number, so that numbers only
    -- grow.
    local function add_bad_token(token, since, now)
      local last = call('ZREVRANGE', bad_tokens, 0, 0, 'WITHSCORES')[2]
      local number = math.max(tonumber(now) * 1000, last and tonumber(last) + 1 or 0)
      call('ZADD', bad_tokens, string.format('%.0f', number), token)
      call('ZADD', feedback, 'GT', since, token)
    end

    -- Releases everything that a worker holds. Only an entry that was alone, and got no response
    -- for any of its devices, is to blame for the end of its worker; after several such crashes it
    -- has to wait.
    local function release(worker, line, is_alone, now)
      local count = 0
      for _, lane in ipairs(LANES) do
        count = count + #call('XPENDING', lane.stream, 'relay', '-', '+', 2, worker)
      end
      is_alone = is_alone and count == 1
      count = 0
      for _, lane in ipairs(LANES) do
        while true do
          local held = call('XPENDING', lane.stream, 'relay', '-', '+', 500, worker)
          for _, one in ipairs(held) do
            local entry = lane.mark .. one[1]
            local place, is_suspect = again(entry), false
            if is_alone and call('HGET', suspects, 'answered ' .. entry) ~= tostring(one[4]) then
              local crashes = one[4] - tonumber(call('HGET', deferrals, entry) or 0)
                - tonumber(call('HGET', suspects, entry) or 0)
              if crashes > 2 then
                place = string.format('%.0f', tonumber(now) + (crashes == 3 and PAUSE or LONG_PAUSE))
              end
            else
              local crashes = call('HINCRBY', suspects, entry, 1)
              is_suspect = crashes >= APART
              if is_suspect then place = apart(entry, crashes) end
            end
            put_back(entry, one[4], place, line, is_suspect)
          end
          count = count + #held
          if #held < 500 then break end
        end
        call('XGROUP', 'DELCONSUMER', lane.stream, 'relay', worker)
      end
      call('HDEL', workers, worker, 'void ' .. worker)
      call('HDEL', connections, worker)
      return count
    end

    """#
}
