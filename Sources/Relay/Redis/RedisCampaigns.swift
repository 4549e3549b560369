import Foundation

/// The campaigns of an app: the outcomes of each are in a hash. Its entries have no index, because
/// producers add them to the streams themselves.
extension RedisScript {
  /// ARGV: the time before which a campaign had its last outcome.
  static let trimCampaigns = RedisScript(
    #"""
    local old = {}
    local all = call('HGETALL', campaigns)
    for place = 1, #all, 2 do
      local name = string.match(all[place], '^changed (.*)$')
      if name and tonumber(all[place + 1]) < tonumber(ARGV[1]) then old[name] = true end
    end
    for place = 1, #all, 2 do
      if old[string.match(all[place], '^%S+ (.*)$')] then call('HDEL', campaigns, all[place]) end
    end
    return 1
    """#)

  /// Some entries of a lane. ARGV: the lane, the number of the first one, `campaign`, `campaigns`,
  /// `id` or `all`, and the name. Returns the number after which to continue, or an empty string; and for
  /// each campaign its name, the entries and devices that wait and that are held, and when the entry
  /// with that ID is due.
  static let left = RedisScript(
    #"""
    ensure_groups()
    local BITS = {['0'] = 0, ['1'] = 1, ['2'] = 1, ['3'] = 2, ['4'] = 1, ['5'] = 2, ['6'] = 2, ['7'] = 3,
      ['8'] = 1, ['9'] = 2, a = 2, b = 3, c = 2, d = 3, e = 3, f = 4}
    local kind, wanted = ARGV[3], ARGV[4]
    local counts, last = {}, ''

    local function devices_of(tokens, positions)
      if not tokens or tokens == '' then return 1 end
      local is_json, list = pcall(cjson.decode, tokens)
      local count = is_json and type(list) == 'table' and #list or 1
      for digit in string.gmatch(positions, '%x') do count = count - BITS[digit] end
      return math.max(1, count)
    end

    for _, lane in ipairs(LANES) do
      if lane.name == ARGV[1] then
        local found = call('XRANGE', lane.stream, ARGV[2], '+', 'COUNT', 100)
        for _, one in ipairs(found) do
          local entry, named = lane.mark .. one[1], map_of(one[2])
          local id, campaign = named['id'] or entry, named['campaign'] or ''
          if kind == 'all' or kind == 'campaigns' and campaign ~= '' or kind == 'campaign' and campaign == wanted
            or kind == 'id' and id == wanted then
            local owner, _, positions = known(id)
            if not owner or owner == '' or owner == entry then
              local pending = pending_of(entry)
              local place = pending and pending[2] ~= 'waiting' and 4 or 2
              local count = counts[campaign] or {campaign, 0, 0, 0, 0, 0}
              if kind == 'id' and place == 2 then
                count[6] = tonumber(call('ZSCORE', lane.later, entry) or named['due']) or 0
              end
              count[place] = count[place] + 1
              count[place + 1] = count[place + 1] + devices_of(named['tokens'], positions or '')
              counts[campaign] = count
            end
          end
        end
        if #found == 100 then last = found[100][1] end
      end
    end
    local result = {last}
    for _, count in pairs(counts) do result[#result + 1] = count end
    return result
    """#)

  /// Entries of a lane that wait for a time. ARGV: the lane, the cursor, the numbers of
  /// cancelled campaigns and of cancelled IDs, those, and the paused campaigns. Returns the number of
  /// entries that are due now, and the next cursor.
  static let advance = RedisScript(
    #"""
    local sets, at = {{}, {}, {}}, 5
    for index, last in ipairs({4 + ARGV[3], 4 + ARGV[3] + ARGV[4], #ARGV}) do
      while at <= last do
        sets[index][ARGV[at]] = true
        at = at + 1
      end
    end
    local count, cursor, ends_any = 0, '0', ARGV[3] + ARGV[4] > 0
    for _, lane in ipairs(LANES) do
      if lane.name == ARGV[1] then
        local reply = call('ZSCAN', lane.later, ARGV[2], 'COUNT', 500)
        cursor = reply[1]
        for place = 1, #reply[2], 2 do
          local entry, due = reply[2][place], tonumber(reply[2][place + 1])
          local found = due > 0 and due < BLOCKED and (due == PAUSED or ends_any) and fields_of(entry)
          if found then
            local named = map_of(found[2])
            local campaign = named['campaign'] or ''
            if sets[1][campaign] or sets[2][named['id'] or entry]
              or due == PAUSED and not sets[3][campaign] then
              call('ZADD', lane.later, again(entry), entry)
              count = count + 1
            end
          end
        end
      end
    end
    if count > 0 then tell() end
    return {count, cursor}
    """#.replacing("PAUSED", with: "\(PausedTime.due)"))
}

extension RedisScript {
  /// ARGV: the time that entries of a campaign wait for, the most of them, and lanes. Returns the number
  /// of entries that are due now.
  static let advanceLimited = RedisScript(
    #"""
    local count = 0
    for _, lane in ipairs(LANES) do
      for place = 3, #ARGV do
        if lane.name == ARGV[place] then
          local waiting = call('ZRANGEBYSCORE', lane.later, ARGV[1], ARGV[1], 'LIMIT', 0, ARGV[2] - count)
          for _, entry in ipairs(waiting) do call('ZADD', lane.later, again(entry), entry) end
          count = count + #waiting
        end
      end
    end
    return count
    """#)

  /// ARGV: the times that entries of limited campaigns wait for. Returns the number of entries that are
  /// due now, and 1 if there may be more.
  static let advanceUnlimited = RedisScript(
    #"""
    local limited, count = {}, 0
    for _, time in ipairs(ARGV) do limited[time] = true end
    for _, lane in ipairs(LANES) do
      local from = 'FIRST'
      while true do
        -- Each step finds a campaign, however many entries it has.
        local time = call('ZRANGEBYSCORE', lane.later, from, '(END', 'WITHSCORES', 'LIMIT', 0, 1)[2]
        if not time then break end
        time = string.format('%.0f', tonumber(time))
        if not limited[time] then
          local waiting = call('ZRANGEBYSCORE', lane.later, time, time, 'LIMIT', 0, 1000)
          for _, entry in ipairs(waiting) do call('ZADD', lane.later, again(entry), entry) end
          count = count + #waiting
          if count >= 1000 then tell() return {count, 1} end
        end
        from = '(' .. time
      end
    end
    if count > 0 then tell() end
    return {count, 0}
    """#.replacing("FIRST", with: "\(PacedTime.times.lowerBound)")
      .replacing("END", with: "\(PacedTime.times.upperBound)"))
}

extension RedisQueue {
  package func campaignOutcomes(app: String) throws -> [String: CampaignOutcomes] {
    let pairs = try ask([RedisCommand("HGETALL", "apns:{\(app)}:campaigns")])[0].pairs
    var all: [String: CampaignOutcomes] = [:]
    for (name, value) in pairs {
      let parts = name.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts.count == 2, let number = Int(value) else { continue }
      if parts[0] == "changed" {
        all[parts[1], default: CampaignOutcomes()].changed = Int64(number)
      } else if let what = CampaignCount(text: parts[0]) {
        all[parts[1], default: CampaignOutcomes()].add(what, number)
      }
    }
    return all
  }

  package func left(_ choice: EntryChoice, app: String) throws -> [String: EntriesLeft] {
    let words =
      switch choice {
      case .campaign(let campaign): ["campaign", campaign]
      case .campaigns: ["campaigns", ""]
      case .id(let id): ["id", id]
      case .all: ["all", ""]
      }
    var all: [String: EntriesLeft] = [:]
    for lane in Lane.allCases {
      var from = "-"
      // In parts, so that other clients are served in between.
      while !from.isEmpty {
        let reply = try run(.left, app: app, lane.rawValue, from, words[0], words[1]).list
        guard let last = reply.first?.text else { throw strange("left") }
        for count in reply.dropFirst().map(\.list) {
          let numbers = count.dropFirst().prefix(4).compactMap(\.count)
          guard let campaign = count.first?.text, numbers.count == 4, let due = count.last?.number
          else { throw strange("left") }
          var left = all[campaign] ?? EntriesLeft()
          left.waiting.entries += numbers[0]
          left.waiting.devices += numbers[1]
          left.held.entries += numbers[2]
          left.held.devices += numbers[3]
          left.due = max(left.due, due)
          all[campaign] = left
        }
        from = last.isEmpty ? "" : "(\(last)"
      }
    }
    return all
  }

  package func advance(
    app: String, cancelled: [EntryChoice], paused: Set<String>, at now: Int64
  ) throws -> Int {
    var (campaigns, ids): ([String], [String]) = ([], [])
    for choice in cancelled {
      switch choice {
      case .campaign(let campaign): campaigns.append(campaign)
      case .id(let id): ids.append(id)
      case .campaigns, .all: break
      }
    }
    var total = 0
    for lane in Lane.allCases {
      var cursor = "0"
      repeat {
        let reply = try run(.advance, app: app) { command in
          for word in [lane.rawValue, cursor, "\(campaigns.count)", "\(ids.count)"] {
            command.add(word)
          }
          for word in campaigns + ids + paused { command.add(word) }
        }.list
        guard reply.count == 2, let count = reply[0].count, let next = reply[1].text else {
          throw strange("advance")
        }
        total += count
        cursor = next
      } while cursor != "0"
    }
    return total
  }

  package func workers(app: String, at now: Int64) throws -> [RegisteredWorker] {
    let now = try shared(now, app)
    let replies = try ask(
      ["workers", "connections"].map { RedisCommand("HGETALL", "apns:{\(app)}:\($0)") })
    let connections = Dictionary(replies[1].pairs.map { ($0.name, $0.value) }) { $1 }
    return replies[0].pairs.compactMap { number, value in
      let parts = value.split(separator: " ", maxSplits: 2).map(String.init)
      guard let number = Int64(number), parts.count == 3, let heard = Int64(parts[0]) else {
        return nil
      }
      return RegisteredWorker(
        number: number, name: parts[2], silentMS: max(0, now - heard),
        isRunning: !ProcessMark.isDead(parts[1]),
        connections: connections["\(number)"]?.split(separator: " ").first.flatMap { Int($0) })
    }.sorted { $0.number < $1.number }
  }

  package func advance(
    limited campaign: String, app: String, lanes: [Lane], upTo count: Int
  ) throws -> Int {
    let reply = try run(.advanceLimited, app: app) { command in
      command.add("\(PacedTime.of(campaign))")
      command.add("\(count)")
      for lane in lanes { command.add(lane.rawValue) }
    }
    return try self.count(reply, "advance")
  }

  package func advance(app: String, exceptLimited limited: Set<String>) throws -> Int {
    var total = 0
    while true {
      let reply = try run(.advanceUnlimited, app: app) { command in
        for campaign in limited { command.add("\(PacedTime.of(campaign))") }
      }.list
      guard reply.count == 2, let count = reply[0].count, let isMore = reply[1].count else {
        throw strange("advance")
      }
      total += count
      if isMore == 0 { return total }
    }
  }
}
