extension RedisScript {
  /// Claims entries for a number of notifications. ARGV: worker ID, time, room, 1 if the order is
  /// kept, 1 if the worker holds no entries, the lanes, the claim's number (see `reconcile`). The reply
  /// begins with a string in MessagePack that has a list for each entry. Most entries are new and have an ID and one device:
  /// then the list has the fields and the entry's number in the stream, because every byte that Lua
  /// builds costs time. Any other entry has two lists: its number, ID, deliveries, answers, crashes,
  /// the positions with an outcome and why the ID is invalid; and its fields. Long values follow the
  /// string, and their fields have their index.
  static let claim = RedisScript(
    #"""
    local worker, now, left = ARGV[1], ARGV[2], tonumber(ARGV[3])
    local there, void = unpack(call('HMGET', workers, worker, 'void ' .. worker))
    if not there or tonumber(void or 0) >= tonumber(ARGV[7]) then return {cmsgpack.pack({})} end
    ensure_groups()
    local result, reply, heaviest, is_full = {}, {''}, 1, false
    local has_deferrals = call('HLEN', deferrals) > 0
    local has_suspects = call('HLEN', suspects) > 0

    local function crashes_of(entry)
      return has_suspects and tonumber(call('HGET', suspects, entry) or 0) or 0
    end

    -- Valid UTF-8, as readers in any language require.
    local function is_text(text)
      local index = 1
      while index <= #text do
        local first, second = string.byte(text, index, index + 1)
        local more
        if first < 0x80 then more = 0
        elseif first >= 0xC2 and first < 0xE0 then more = 1
        elseif first >= 0xE0 and first < 0xF0 then more = 2
        elseif first >= 0xF0 and first < 0xF5 then more = 3
        else return false end
        local rest = string.sub(text, index + 1, index + more)
        if #rest < more or string.find(rest, '[^\128-\191]') then return false end
        if (first == 0xE0 and second < 0xA0) or (first == 0xED and second >= 0xA0)
          or (first == 0xF0 and second < 0x90) or (first == 0xF4 and second >= 0x90) then
          return false
        end
        index = index + more + 1
      end
      return true
    end

    -- Returns the ID, why the given one is invalid, the number of notifications, and until when it
    -- waits. An entry
    -- without a valid ID is known by its number in the stream. A token counts as 32 bytes in hex
    -- with quotes and a comma, which is exact enough to decide how much to read.
    local function identify(entry, fields)
      local named = map_of(fields)
      local id, tokens = named['id'], named['tokens']
      local weight = tokens and math.max(1, math.min(MOST, math.floor(#tokens / 67))) or 1
      local due = tonumber(named['due'])
      if due and not (due > tonumber(now) and due <= tonumber(now) + LONGEST_WAIT) then due = nil end
      if not id then return entry, '', weight, due end
      if id == '' then return entry, 'the id is empty', weight, due end
      local count = #id
      if string.find(id, '[\128-\255]') then
        if not is_text(id) then return entry, 'the id is not UTF-8', weight, due end
        count = select(2, string.gsub(id, '[^\128-\191]', ''))
      end
      if count > LONGEST then return entry, 'the id has more than LONGEST characters', weight, due end
      return id, '', weight, due
    end

    local keeps_order = ARGV[4] == '1'

    local function line_of(target)
      local token = string.lower(target)
      -- A malformed token gets a name that no valid token has.
      return string.find(token, '^%x+$') and token or 'sha1:' .. redis.sha1hex(token)
    end

    -- The lines in which an entry waits, each lane's own. An unreadable entry waits for no other.
    local function lines_of(entry, fields)
      local mark = lane_of(entry).mark
      local start, found = mark == '' and '' or mark .. ':', {}
      for index = 1, #fields, 2 do
        local name, value = fields[index], fields[index + 1]
        if value == '' then
        elseif name == 'token' then
          found[start .. line_of(value)] = true
        elseif name == 'channel' then
          found[start .. 'channel:' .. redis.sha1hex(value)] = true
        elseif name == 'tokens' then
          local is_json, list = pcall(cjson.decode, value)
          for _, one in ipairs(is_json and type(list) == 'table' and list or {}) do
            local token = type(one) == 'table' and one['token'] or one
            if type(token) == 'string' then found[start .. line_of(token)] = true end
          end
        end
      end
      return found
    end

    -- Adds the entry to all of its lines. True if none of them has an earlier entry.
    local function is_first(entry, fields)
      local own, is_known = {}, has_lines and call('HEXISTS', targets, entry) == 1
      local is_first = true
      for target in pairs(lines_of(entry, fields)) do
        local place = place_in_line(target, entry)
        if not is_known then
          own[#own + 1] = target
          call('ZADD', lines, 0, place)
        end
        local first = call('ZRANGEBYLEX', lines, '[' .. target .. '|', '[' .. place, 'LIMIT', 0, 1)[1]
        if first and first ~= place then is_first = false end
      end
      if #own > 0 then
        call('HSET', targets, entry, table.concat(own, ' '))
        has_lines = true
      end
      return is_first
    end

    local function set_apart_what_is_long(fields)
      for index = 2, #fields, 2 do
        if #fields[index] >= LONG then
          reply[#reply + 1] = fields[index]
          fields[index] = #reply - 1
        end
      end
    end

    -- Gives entries to the worker while there is room, each only if it owns its ID. `found` has the
    -- number, fields and deliveries of each; the group has already assigned new ones to the worker.
    local function give(found, is_new)
      if #found == 0 then return end
      local names, faults, weights, dues, new_ones = {}, {}, {}, {}, {}
      for index, one in ipairs(found) do
        names[index], faults[index], weights[index], dues[index] = identify(one[1], one[2])
      end
      local texts = call('HMGET', ids, unpack(names))
      -- If two of these have one ID, the first owns it.
      local owners = {}
      for index, one in ipairs(found) do
        local entry, id, owner, last, positions = one[1], names[index], owners[names[index]], '', ''
        if not owner and texts[index] then
          owner, last, positions = split(texts[index])
          if owner == '' then owner = nil end
        end
        if owner and owner ~= entry then
          -- The ID is finished, or belongs to another entry.
          forget(entry)
        elseif dues[index] and is_new then
          if not owner then
            new_ones[#new_ones + 1] = id
            new_ones[#new_ones + 1] = entry .. '|' .. last .. '|' .. positions
          end
          owners[id] = entry
          local time = string.format('%.0f', dues[index])
          put_back(entry, 0, time, '')
        else
          is_full = is_full or left <= 0 or (weights[index] > left and #result > 0)
          if is_full then
            if is_new then put_back(entry, 0, again(entry), '') end
          elseif keeps_order and not is_first(entry, one[2]) then
            local time = string.format('%.0f', BLOCKED + tonumber(string.match(entry, '%d+')))
            if is_new then
              put_back(entry, 0, time, '')
            else
              wait_no_more(entry)
              call('ZADD', lane_of(entry).later, time, entry)
            end
          else
            if not is_new then
              local lane, number = lane_of(entry)
              call('XCLAIM', lane.stream, 'relay', worker, 0, number, 'RETRYCOUNT', one[3], 'FORCE', 'JUSTID')
              wait_no_more(entry)
            end
            if not owner then
              new_ones[#new_ones + 1] = id
              new_ones[#new_ones + 1] = entry .. '|' .. last .. '|' .. positions
            end
            owners[id] = entry
            left = left - weights[index]
            heaviest = math.max(heaviest, weights[index])
            local fields = one[2]
            local deferred = has_deferrals and call('HGET', deferrals, entry) or '0'
            if is_new and weights[index] == 1 and deferred == '0' and positions == ''
              and faults[index] == '' and id ~= entry then
              fields[#fields + 1] = entry
              result[#result + 1] = fields
            else
              if weights[index] > 1 then set_apart_what_is_long(fields) end
              result[#result + 1] = {{entry, id, one[3], deferred, crashes_of(entry), positions, faults[index]}, fields}
            end
          end
        end
      end
      if #new_ones > 0 then call('HSET', ids, unpack(new_ones)) end
    end

    local function due_of(lane)
      local most = math.min(left, 500)
      return most > 0 and call('ZCARD', lane.later) > 0
        and call('ZRANGEBYSCORE', lane.later, '-inf', now, 'LIMIT', 0, most) or {}
    end

    local function give_due(due)
      local found = {}
      for _, entry in ipairs(due) do
        local there = fields_of(entry)
        if there then
          local pending = pending_of(entry)
          found[#found + 1] = {entry, there[2], (pending and pending[4] or 0) + 1}
        else
          -- Another program removed it from the stream.
          forget(entry)
        end
      end
      give(found, false)
    end

    local function reply_now()
      reply[1] = cmsgpack.pack(result)
      return reply
    end

    local has_group = false
    if has_suspects then
      -- Suspects that waited for a time or in a line join the other suspects.
      for _, lane in ipairs(LANES) do
        for _, entry in ipairs(due_of(lane)) do
          local crashes = crashes_of(entry)
          if crashes >= APART then
            wait_no_more(entry)
            call('ZADD', later, apart(entry, crashes), entry)
          end
        end
      end
      local group = call('ZRANGEBYSCORE', later, tonumber(again('0-0')) + APART * 1e13, '(0',
        'LIMIT', 0, math.min(left, 500))
      if #group > 0 then
        -- No other entry is handed out before a free worker has taken the suspects.
        if ARGV[5] ~= '1' then return {cmsgpack.pack({})} end
        has_group = true
        local due = {}
        for _, entry in ipairs(group) do
          local crashes = crashes_of(entry)
          if #due >= (crashes == 2 and 100 or crashes == 3 and 10 or 1) then break end
          due[#due + 1] = entry
        end
        give_due(due)
        if #result > 0 then return reply_now() end
      end
    end

    local function give_new(lane)
      -- The number of entries read together depends on the size of the previous ones.
      local chunk, read = 1, 0
      while left > 0 and not is_full and read < 4000 do
        local batch = call(
          'XREADGROUP', 'GROUP', 'relay', worker, 'COUNT', chunk, 'STREAMS', lane.stream, '>')
        if not batch then return end
        local entries = batch[1][2]
        for _, one in ipairs(entries) do
          if lane.mark ~= '' then one[1] = lane.mark .. one[1] end
          one[3] = 1
        end
        give(entries, true)
        if #entries < chunk then return end
        read = read + #entries
        -- The next one may be as large, and would be read in vain if it does not fit.
        if heaviest > left then return end
        chunk = math.max(1, math.min(chunk * 8, 500, math.floor(left / heaviest)))
      end
    end

    for _, lane in ipairs(LANES) do
      if string.find(ARGV[6], lane.name, 1, true) and left > 0 and not is_full then
        local due = has_group and {} or due_of(lane)
        give_due(due)
        if #due == 500 then return reply_now() end
        give_new(lane)
      end
    end
    return reply_now()
    """#
    .replacing("LONGEST_WAIT", with: "\(NewEntry.longestWaitMS)")
    .replacing("LONGEST", with: "\(NewEntry.longestID)")
    .replacing("LONG", with: "1024")
    .replacing("MOST", with: "\(NewEntry.mostTokens)"))
}
