extension RedisScript {
  /// Gives a worker entries for so many notifications. ARGV: seat, time, room. For each entry: its
  /// number in the stream, its id, deliveries, answers, the positions that have an outcome, why the
  /// id cannot be used, its fields.
  static let claim = RedisScript(
    #"""
    local seat, now, left = ARGV[1], ARGV[2], tonumber(ARGV[3])
    if call('HEXISTS', workers, seat) == 0 then return {} end
    ensure_group()
    local result, heaviest, is_full = {}, 1, false

    -- UTF-8, as a reader in any language takes it.
    local function is_text(text)
      if not string.find(text, '[\128-\255]') then return true end
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

    -- The id, and why the one that is written there is none. An entry without one is known by its
    -- number in the stream.
    local function identify(entry, fields)
      local id
      for index = 1, #fields, 2 do
        if fields[index] == 'id' then id = fields[index + 1] end
      end
      if not id then return entry, '' end
      if id == '' then return entry, 'the id is empty' end
      if not is_text(id) then return entry, 'the id is no text in UTF-8' end
      local _, count = string.gsub(id, '[^\128-\191]', '')
      if count > LONGEST then return entry, 'the id has more than LONGEST characters' end
      return id, ''
    end

    -- 32 bytes in hex with quotes and a comma: near enough for how much to read.
    local function weigh(fields)
      for index = 1, #fields, 2 do
        if fields[index] == 'tokens' then
          return math.max(1, math.min(MOST, math.floor(#fields[index + 1] / 67)))
        end
      end
      return 1
    end

    -- Gives it to the worker, if it is the one of its id. False: there is no room for it.
    local function give(entry, fields, deliveries, is_new)
      local id, fault = identify(entry, fields)
      local owner, _, positions = known(id)
      if owner and owner ~= entry then
        -- Its id is known: it is done, or another entry has it.
        forget(entry)
        return true
      end
      local weight = weigh(fields)
      if weight > left and #result > 0 then return false end
      if not is_new then
        call('XCLAIM', input, 'relay', seat, 0, entry, 'RETRYCOUNT', deliveries, 'FORCE', 'JUSTID')
        call('ZREM', later, entry)
      end
      if not owner then know(id, entry, '', '') end
      left = left - weight
      heaviest = math.max(heaviest, weight)
      result[#result + 1] = {entry, id, deliveries, call('HGET', answers, entry) or '0',
        positions or '', fault, fields}
      return true
    end

    local most = math.min(left, 500)
    local due = most > 0 and call('ZRANGEBYSCORE', later, '-inf', now, 'LIMIT', 0, most) or {}
    for _, entry in ipairs(due) do
      if left <= 0 or is_full then break end
      local found = call('XRANGE', input, entry, entry)[1]
      if found then
        local pending = call('XPENDING', input, 'relay', entry, entry, 1)[1]
        is_full = not give(entry, found[2], (pending and pending[4] or 0) + 1, false)
      else
        -- Somebody removed it from the stream.
        forget(entry)
      end
    end
    if #due == 500 then return result end

    -- How many are read at once depends on how large the ones before were.
    local chunk, read = 1, 0
    while left > 0 and not is_full and read < 4000 do
      local answer = call(
        'XREADGROUP', 'GROUP', 'relay', seat, 'COUNT', chunk, 'STREAMS', input, '>')
      if not answer then break end
      local entries = answer[1][2]
      for _, one in ipairs(entries) do
        is_full = is_full or left <= 0 or not give(one[1], one[2], 1, true)
        if is_full then put_back(one[1], 0, again(one[1]), '') end
      end
      if #entries < chunk then break end
      read = read + #entries
      chunk = math.max(1, math.min(chunk * 8, 500, math.floor(left / heaviest)))
    end
    return result
    """#
    .replacing("LONGEST", with: "\(NewEntry.longestID)")
    .replacing("MOST", with: "\(NewEntry.mostTokens)"))

  /// Records outcomes and what becomes of their entries. ARGV: seat, time, and for each entry its
  /// id, deliveries, what becomes of it, the time of "later", 1 if it was answered, a line for its
  /// story, how many outcomes; and for each outcome position, token, outcome, reason, http_status,
  /// apns_id, since when the device is gone or nothing, since when its token is told as refused or
  /// nothing.
  static let record = RedisScript(
    #"""
    -- Nothing is undone in Redis: so what can fail, because a key is of another type, fails first.
    ensure_group()
    call('XLEN', out) call('ZCARD', gone) call('XLEN', dead) call('ZCARD', later)
    call('HLEN', ids) call('HLEN', stories) call('HLEN', answers)
    call('ZCARD', bad) call('ZCARD', feedback)

    local seat, now, at = ARGV[1], ARGV[2], 3
    while at <= #ARGV do
      local id, deliveries, verdict, due, is_answered, line, count = unpack(ARGV, at, at + 6)
      at = at + 7
      local owner, last, positions = known(id)
      local entry = owner
      if not owner then owner, last, positions = '', '', '' end
      local is_open = owner ~= '.'
      for _ = 1, tonumber(count) do
        local position, token, outcome, reason, status, apns_id, since, refused =
          unpack(ARGV, at, at + 7)
        at = at + 8
        if is_open and not string.find(positions, ',' .. position .. ',', 1, true) then
          last = call('XADD', out, '*', 'id', id, 'position', position, 'token', token,
            'outcome', outcome, 'reason', reason, 'http_status', status, 'apns_id', apns_id,
            'deliveries', deliveries, 'at', now)
          positions = (positions == '' and ',' or positions) .. position .. ','
          if since ~= '' then call('ZADD', gone, 'GT', since, token) end
          if refused ~= '' then refuse(token, refused, now) end
        end
      end
      if is_open then
        local is_done = verdict == 'finished'
        -- Whether it is this worker's still, and this delivery of it.
        local is_own = false
        if entry and not is_done and verdict ~= 'held' then
          local pending = call('XPENDING', input, 'relay', entry, entry, 1)[1]
          is_own = pending and pending[2] == seat and pending[4] == tonumber(deliveries)
        end
        if is_own and verdict == 'later' then
          put_back(entry, deliveries, due, line)
          if is_answered == '1' then call('HINCRBY', answers, entry, 1) end
        elseif is_own and verdict == 'untouched' then
          put_back(entry, math.max(0, deliveries - 1), again(entry), '')
        elseif is_own and verdict == 'dead' then
          local found = call('XRANGE', input, entry, entry)[1]
          local fields = found and found[2] or {'id', id}
          local story = call('HGET', stories, entry)
          local letter = {}
          for index = 1, math.min(#fields, 200) do letter[index] = fields[index] end
          for _, word in ipairs({'entry', entry, 'deliveries', deliveries,
            'story', story and story .. '\n' .. line or line, 'at', now}) do
            letter[#letter + 1] = word
          end
          call('XADD', dead, '*', unpack(letter))
          is_done = true
        end
        if is_done then
          if entry then forget(entry) end
          if last == '' then call('HDEL', ids, id) else know(id, '.', last, '') end
        elseif entry and tonumber(count) > 0 then
          know(id, owner, last, positions)
        end
      end
    end
    return 1
    """#)
}
