extension RedisScript {
  /// ARGV: the worker's record, the time. An ID is never given again, not even by a Redis that lost its
  /// count: two workers with one ID would keep each other's entries.
  static let join = RedisScript(
    #"""
    ensure_groups()
    local worker = math.max((tonumber(call('GET', worker_ids)) or 0) + 1, tonumber(ARGV[2]))
    call('SET', worker_ids, string.format('%.0f', worker))
    call('HSET', workers, string.format('%.0f', worker), ARGV[1])
    return worker
    """#)

  /// ARGV: worker ID, time.
  static let renew = RedisScript(
    #"""
    local said = call('HGET', workers, ARGV[1])
    if not said then return 0 end
    call('HSET', workers, ARGV[1], (string.gsub(said, '^%d+', ARGV[2])))
    return 1
    """#)

  /// ARGV: worker ID, the worker's last record or an empty string, a line for the histories, 1 if
  /// no other worker of the process held entries, the time.
  static let release = RedisScript(
    #"""
    local said = call('HGET', workers, ARGV[1])
    if not said or (ARGV[2] ~= '' and said ~= ARGV[2]) then return 0 end
    ensure_groups()
    local count = release(ARGV[1], ARGV[3], ARGV[4] == '1', ARGV[5])
    tell()
    return count
    """#)

  /// ARGV: the time, the lanes. Returns the first time when there may be entries to claim, or an empty
  /// string.
  static let nextDue = RedisScript(
    #"""
    ensure_groups()
    local first = ''
    for _, lane in ipairs(LANES) do
      if string.find(ARGV[2], lane.name, 1, true) then
        if first_new(lane) then return ARGV[1] end
        local due = call('ZRANGEBYSCORE', lane.later, '-inf', '(PAUSED', 'WITHSCORES', 'LIMIT', 0, 1)[2]
        if due and (first == '' or tonumber(due) < tonumber(first)) then first = due end
      end
    end
    return first
    """#.replacing("PAUSED", with: "\(PausedTime.due)"))

  /// Returns the last number that was given in each stream for which relays wait.
  static let lastNumbers = RedisScript(
    #"""
    local numbers = {}
    for index, stream in ipairs({input, urgent, bulk, wake, out}) do
      local info = redis.pcall('XINFO', 'STREAM', stream)
      numbers[index] = info.err and '0-0' or map_of(info)['last-generated-id']
    end
    return numbers
    """#)

  /// ARGV: name, the current value or an empty string, the new value or an empty string. Returns 1
  /// on success.
  static let replaceAppState = replace(in: "app_state")
  static let moveReader = replace(in: "readers")

  private static func replace(in hash: String) -> RedisScript {
    RedisScript(
      #"""
      local there = call('HGET', \#(hash), ARGV[1]) or ''
      -- A repeated call after a lost reply finds its own value.
      if there == ARGV[3] then return 1 end
      if there ~= ARGV[2] then return 0 end
      if ARGV[3] == '' then
        call('HDEL', \#(hash), ARGV[1])
      else
        call('HSET', \#(hash), ARGV[1], ARGV[3])
      end
      if \#(hash) == app_state and ARGV[1] == 'orders' then tell() end
      return 1
      """#)
  }

  /// ARGV: the time. Makes entries due that wait because APNs failed.
  static let bringBack = RedisScript(
    #"""
    local count = 0
    for _, lane in ipairs(LANES) do
      local parked = call('ZRANGEBYSCORE', lane.later, '(' .. ARGV[1],
        string.format('%.0f', tonumber(ARGV[1]) + LONGEST_PARKED), 'WITHSCORES', 'LIMIT', 0, 10000)
      for place = 1, #parked, 2 do
        if tonumber(parked[place + 1]) % 1000 == 999
          and tonumber(call('HGET', deferrals, parked[place]) or 0) > 0 then
          call('ZADD', lane.later, again(parked[place]), parked[place])
          count = count + 1
        end
      end
    end
    return count
    """#.replacing("LONGEST_PARKED", with: "\(ParkedTime.longestMS)"))

  /// Returns entries that the worker was given but never received, as if they had not been claimed.
  /// Its claims with this number or a lower one are void from now on, because they may arrive late, and
  /// so is this call. ARGV: worker ID, the number, and the numbers of the entries that it has.
  static let reconcile = RedisScript(
    #"""
    local there, void = unpack(call('HMGET', workers, ARGV[1], 'void ' .. ARGV[1]))
    if not there or tonumber(void or 0) >= tonumber(ARGV[2]) then return 0 end
    ensure_groups()
    call('HSET', workers, 'void ' .. ARGV[1], ARGV[2])
    local has = {}
    for index = 3, #ARGV do has[ARGV[index]] = true end
    local count = 0
    for _, lane in ipairs(LANES) do
      local from = '-'
      repeat
        local held = call('XPENDING', lane.stream, 'relay', from, '+', 500, ARGV[1])
        for _, one in ipairs(held) do
          local entry = lane.mark .. one[1]
          if not has[entry] then
            put_back(entry, math.max(0, one[4] - 1), again(entry), '')
            count = count + 1
          end
          from = '(' .. one[1]
        end
      until #held < 500
    end
    return count
    """#)

  /// ARGV: for each entry its ID, its lane's mark, its number of arguments, and the arguments.
  static let enqueue = RedisScript(
    #"""
    local count, at = 0, 1
    while at <= #ARGV do
      local id, lane, size = ARGV[at], lane_of(ARGV[at + 1]), tonumber(ARGV[at + 2])
      local known = call('HGET', ids, id) or '||'
      -- An ID without an owner has outcomes, but no entry.
      if string.sub(known, 1, 1) == '|' then
        local number = call('XADD', lane.stream, '*', unpack(ARGV, at + 3, at + 2 + size))
        call('HSET', ids, id, lane.mark .. number .. known)
        count = count + 1
      end
      at = at + 3 + size
    end
    return count
    """#, isMore: true)

  /// ARGV: IDs, each followed by itself as a JSON string. Returns for each known ID: the ID, its
  /// entry's fields, and the first of its outcomes in its last record as a JSON object, or an empty
  /// string.
  static let known = RedisScript(
    #"""
    local records = {}
    local function outcome(number, quoted)
      if not records[number] then
        local found = call('XRANGE', out, number, number)[1]
        records[number] = found and map_of(found[2])['outcomes'] or ''
      end
      -- A JSON string cannot contain this text, because its quotes are escaped.
      local text = records[number]
      local first = string.find(text, '{"id":' .. quoted .. ',', 1, true)
      if not first then return '' end
      local behind = string.find(text, '},{"id":', first, true) or #text - 1
      return string.sub(text, first, behind)
    end

    local result = {}
    for place = 1, #ARGV, 2 do
      local id = ARGV[place]
      local owner, last = known(id)
      if owner then
        local entry = owner ~= '.' and owner ~= '' and fields_of(owner)
        result[#result + 1] = {id, entry and entry[2] or {},
          last ~= '' and outcome(last, ARGV[place + 1]) or ''}
      end
    end
    return result
    """#)

  /// ARGV: the time before which outcomes are removed, and the record after which to start. Returns
  /// the number removed, and the record after which to continue.
  static let trim = RedisScript(
    #"""
    local function parts(number)
      local time, count = string.match(number, '^(%d+)%-?(%d*)$')
      return tonumber(time or 0), tonumber(count ~= '' and count or 0) or 0
    end
    local function is_behind(one, other)
      local a, b = parts(one)
      local c, d = parts(other)
      return a > c or (a == c and b > d)
    end

    -- The first outcome that a reader has not read yet, or is about to read. A reader is a field of
    -- "readers", or a consumer group of the stream.
    local limit
    local function keep_behind(number)
      if not limit or is_behind(limit, number) then limit = number end
    end
    local seen = call('HVALS', readers)
    for _, number in ipairs(seen) do keep_behind(number) end
    if call('EXISTS', out) == 1 then
      for _, one in ipairs(call('XINFO', 'GROUPS', out)) do
        local group = map_of(one)
        keep_behind(group['last-delivered-id'])
        if group['pending'] > 0 then
          local first = call('XPENDING', out, group['name'])[2]
          local time, count = parts(first)
          -- The record before it was read last.
          keep_behind(count > 0 and string.format('%.0f-%.0f', time, count - 1)
            or string.format('%.0f-18446744073709551615', time - 1))
        end
      end
    end

    local function has_letter(number) return number ~= '' and #call('XRANGE', dead, number, number) > 0 end

    local removed, last = 0, ''
    -- A few records per call: each may have a thousand outcomes, and other clients wait.
    for _, one in ipairs(call('XRANGE', out, ARGV[2], '+', 'COUNT', 20)) do
      local number, content = one[1], map_of(one[2])
      if tonumber(content['at'] or 0) >= tonumber(ARGV[1]) then break end
      if limit and is_behind(number, limit) then break end
      last = number
      -- An unfinished entry needs its outcomes, and so does a dead letter.
      local is_done, newest, count = true, {}, 0
      for _, outcome in ipairs(cjson.decode(content['outcomes'] or '[]')) do
        local owner, record, letter = known(outcome['id'])
        is_done = is_done and (not owner or owner == '' or (owner == '.' and not has_letter(letter)))
        if record == number then newest[#newest + 1] = outcome['id'] end
        count = count + #(outcome['devices'] or {})
      end
      if is_done then
        removed = removed + count
        call('XDEL', out, number)
        if #newest > 0 then call('HDEL', ids, unpack(newest)) end
      end
    end
    return {removed, last}
    """#)

  /// ARGV: the time. Returns the numbers of deferred, held, dead, paused and paced entries, and for each
  /// lane the number of waiting entries, and when the oldest one was added.
  static let depths = RedisScript(
    #"""
    ensure_groups()
    local deferred, held, paused, paced, waiting = 0, 0, 0, 0, {}
    for _, lane in ipairs(LANES) do
      local pending = call('XPENDING', lane.stream, 'relay')[1]
      local again = call('ZCOUNT', lane.later, '-inf', '(0')
      local all = call('ZCARD', lane.later)
      local blocked = call('ZCOUNT', lane.later, BLOCKED, '+inf')
      local stopped = call('ZCOUNT', lane.later, PAUSED, PAUSED)
      local limited = call('ZCOUNT', lane.later, '(' .. PAUSED, '(' .. BLOCKED)
      deferred = deferred + all - again - blocked - stopped - limited
      paused, paced = paused + stopped, paced + limited
      held = held + pending - all
      waiting[#waiting + 1] = math.max(0, call('XLEN', lane.stream) - pending) + again + blocked
      waiting[#waiting + 1] = call('ZRANGEBYSCORE', lane.later, '-inf', '(0', 'LIMIT', 0, 1)[1]
        or (first_new(lane) or {})[1]
        or call('ZRANGEBYSCORE', lane.later, BLOCKED, '+inf', 'LIMIT', 0, 1)[1] or ''
    end
    return {deferred, math.max(0, held), call('XLEN', dead), paused, paced, unpack(waiting)}
    """#.replacing("PAUSED", with: "'\(PausedTime.due)'"))
}
