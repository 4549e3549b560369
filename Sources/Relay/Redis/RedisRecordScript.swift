extension RedisScript {
  /// Atomically records outcomes and updates their entries. ARGV: worker ID, time; in MessagePack:
  /// updates, gone devices, bad tokens, finished IDs, outcomes of campaigns; then the outcome records,
  /// as separate arguments because Lua would hash them twice inside another string. Most entries finish
  /// in one step: for these only the ID is passed, grouped by the record that holds the entry's last
  /// outcome. Every other entry has an update: ID, deliveries, disposition, due time, 1 if APNs
  /// deferred it, a history line, the record with its last outcome or 0, the positions with an
  /// outcome as this relay knows them, and the same after this update. For a dead letter the
  /// positions with another outcome than `dead` follow, and the record with the last of these or 0.
  /// If outcomes are by order, 1 follows, and without a dead letter both of these are empty. A time
  /// follows each device and token.
  ///
  /// Returns an empty list on success. If others have recorded outcomes of the same entries since,
  /// records none. The list then has the indices of these entries, from 1 on, among finished IDs
  /// and then updates, each followed by the positions that have an outcome, or "." for all; "-" if
  /// outcomes are by order, and the worker does not hold the delivery any more.
  static let record = RedisScript(
    #"""
    local worker, now = ARGV[1], ARGV[2]
    local updates, devices, bad, ended, counts = unpack(cmsgpack.unpack(ARGV[3]))
    -- Redis has no rollback, so commands that fail for a key of another type run first.
    ensure_groups()
    call('XLEN', out) call('ZCARD', gone) call('ZCARD', gone_at) call('XLEN', dead)
    for _, lane in ipairs(LANES) do lane.has_later = call('ZCARD', lane.later) > 0 end
    call('HLEN', ids)
    local has_histories, has_deferrals = call('HLEN', histories) > 0, call('HLEN', deferrals) > 0
    local has_suspects = call('HLEN', suspects) > 0
    call('ZCARD', bad_tokens) call('ZCARD', feedback)
    if #counts > 0 then call('HLEN', campaigns) end

    -- As many values as Lua can pass in one call.
    local MOST = 1000
    local function in_parts(list, act)
      for first = 1, #list, MOST do act(unpack(list, first, math.min(#list, first + MOST - 1))) end
    end

    -- The finished entries of each lane.
    for _, lane in ipairs(LANES) do lane.finished = {} end
    local function finish(entry)
      local finished = lane_of(entry).finished
      finished[#finished + 1] = entry
    end

    local behind, ends, place = {}, {}, 0
    for _, list in ipairs(ended) do
      for first = 1, #list, MOST do
        local found = call('HMGET', ids, unpack(list, first, math.min(#list, first + MOST - 1)))
        for index, text in ipairs(found) do
          local id, entry, last, positions = list[first + index - 1], nil, '', ''
          if text then
            -- Faster than split().
            if string.sub(text, -2) == '||' then
              entry = string.sub(text, 1, -3)
            else
              entry, last, positions = split(text)
            end
          end
          -- A worker may hold an entry twice, if its lease expired in between.
          if entry == '.' or ends[id] then positions = '.' end
          ends[id] = true
          place = place + 1
          if positions ~= '' then
            behind[#behind + 1] = place
            behind[#behind + 1] = positions
          end
          if entry and entry ~= '' then finish(entry) end
        end
      end
    end

    local texts, names = {}, {}
    for index, update in ipairs(updates) do names[index] = update[1] end
    for first = 1, #names, MOST do
      local last = math.min(#names, first + MOST - 1)
      for index, text in ipairs(call('HMGET', ids, unpack(names, first, last))) do
        texts[names[first + index - 1]] = text
      end
    end

    -- Whether the worker still holds the entry by this delivery.
    local function is_held(entry, deliveries)
      local pending = pending_of(entry)
      return pending and pending[2] == worker and pending[4] == tonumber(deliveries)
    end

    local afters = {}
    for index, update in ipairs(updates) do
      local id, record, before, after = update[1], update[7], update[8], update[9]
      if update[12] then
        local entry = texts[id] and split(texts[id]) or ''
        if entry == '' or entry == '.' or ends[id] or not is_held(entry, update[2]) then
          behind[#behind + 1] = place + index
          behind[#behind + 1] = '-'
        end
      end
      if record ~= '0' then
        local entry, last, positions = '', '', ''
        if texts[id] then entry, last, positions = split(texts[id]) end
        positions = (entry == '.' or ends[id]) and '.' or afters[id] or positions
        if positions ~= before then
          behind[#behind + 1] = place + index
          behind[#behind + 1] = positions
        end
        afters[id] = after
      end
    end
    if #behind > 0 then return behind end

    local numbers = {}
    for index = 4, #ARGV do
      numbers[tostring(index - 3)] = call('XADD', out, '*', 'at', now, 'outcomes', ARGV[index])
    end
    for place = 1, #devices, 2 do
      call('ZADD', gone, 'GT', devices[place + 1], devices[place])
      call('ZADD', gone_at, now, devices[place])
    end
    for place = 1, #bad, 2 do add_bad_token(bad[place], bad[place + 1], now) end

    for place = 1, #counts, 3 do
      call('HINCRBY', campaigns, counts[place + 1] .. ' ' .. counts[place], counts[place + 2])
      call('HSET', campaigns, 'changed ' .. counts[place], now)
    end

    local to_know, to_forget, is_back = {}, {}, false
    for record, list in ipairs(ended) do
      local text = '.|' .. (numbers[tostring(record)] or '') .. '|'
      for _, id in ipairs(list) do
        to_know[#to_know + 1] = id
        to_know[#to_know + 1] = text
      end
    end
    for index, update in ipairs(updates) do
      local id, deliveries, disposition, due, is_requested, line, record, before, after, kept, kept_record =
        unpack(update)
      local entry, last, positions
      if texts[id] then entry, last, positions = split(texts[id]) end
      if entry == '' then entry = nil end
      if entry ~= '.' and not ends[id] then
        last, positions = last or '', positions or ''
        local is_new = record ~= '0'
        local last_before, letter_number = last, ''
        if is_new then last, positions = numbers[record], after end
        local is_done = disposition == 'finished'
        local is_own = entry and not is_done and disposition ~= 'held' and is_held(entry, deliveries)
        is_back = is_back or is_own and disposition ~= 'dead' and tonumber(due) < 3e15
        if is_own and disposition == 'deferred' then
          put_back(entry, deliveries, due, line)
          if is_requested == '1' then call('HINCRBY', deferrals, entry, 1) end
        elseif is_own and disposition == 'released' then
          put_back(entry, math.max(0, deliveries - 1), due ~= 0 and due or again(entry), '')
        elseif is_own and disposition == 'dead' then
          local found = fields_of(entry)
          local fields = found and found[2] or {'id', id}
          local history = call('HGET', histories, entry)
          local letter = {}
          for place = 1, math.min(#fields, 200) do letter[place] = fields[place] end
          for _, word in ipairs({'lane', lane_of(entry).name, 'entry', entry, 'deliveries', deliveries,
            'history', history and history .. '\n' .. line or line, 'at', now, 'kept', kept,
            'kept_record', kept_record ~= '0' and numbers[kept_record] or last_before}) do
            letter[#letter + 1] = word
          end
          letter_number = call('XADD', dead, '*', unpack(letter))
          forget(entry)
          entry = nil
          is_done = true
        end
        -- See release().
        if entry and is_new and disposition == 'held' then
          call('HSET', suspects, 'answered ' .. entry, deliveries)
        end
        local text
        if is_done then
          if entry then finish(entry) end
          if last == '' then to_forget[#to_forget + 1] = id else text = '.|' .. last .. '|' .. letter_number end
        elseif is_new then
          -- The owner is empty if Redis lost it in a crash: an ID with an outcome stays known.
          text = (entry or '') .. '|' .. last .. '|' .. positions
        end
        if text then
          to_know[#to_know + 1] = id
          to_know[#to_know + 1] = text
          texts[id] = text
        end
      end
    end
    if is_back then tell() end
    in_parts(to_know, function(...) call('HSET', ids, ...) end)
    in_parts(to_forget, function(...) call('HDEL', ids, ...) end)
    for _, lane in ipairs(LANES) do
      local finished, numbers = lane.finished, lane.finished
      if lane.mark ~= '' then
        numbers = {}
        for index, entry in ipairs(finished) do numbers[index] = string.sub(entry, 2) end
      end
      if has_lines then
        for _, entry in ipairs(finished) do leave_lines(entry) end
      end
      in_parts(numbers, function(...)
        call('XACK', lane.stream, 'relay', ...)
        call('XDEL', lane.stream, ...)
      end)
      in_parts(finished, function(...)
        if lane.has_later then call('ZREM', lane.later, ...) end
        if has_histories then call('HDEL', histories, ...) end
        if has_deferrals then call('HDEL', deferrals, ...) end
        if has_suspects then
          call('ZREM', later, ...)
          call('HDEL', suspects, ...)
          for _, entry in ipairs({...}) do call('HDEL', suspects, 'answered ' .. entry) end
        end
      end)
    end
    return behind
    """#)
}
