extension RedisScript {
  /// Leases a worker's connection quota, with the rules of `ConnectionShares`. ARGV: worker ID,
  /// open connections, wanted connections, 1 if needed, the limit for all workers.
  fileprivate static let share = RedisScript(
    #"""
    local worker, held, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5])
    if call('HEXISTS', workers, worker) == 0 then return -1 end
    local turns, others = {}, 0
    local function want(number, wanted, needed)
      turns[#turns + 1] = {number = tonumber(number), left = tonumber(wanted), needed = needed}
    end
    local all = call('HGETALL', connections)
    for index = 1, #all, 2 do
      if all[index] ~= worker then
        local has, wanted, needed = string.match(all[index + 1], '^(%d+) (%d+) (%d)$')
        want(all[index], wanted, needed)
        others = others + tonumber(has)
      end
    end
    want(worker, ARGV[3], ARGV[4])
    table.sort(turns, function(one, other)
      if one.needed ~= other.needed then return one.needed > other.needed end
      return one.number < other.number
    end)
    local share, left, is_moving = 0, most, true
    while left > 0 and is_moving do
      is_moving = false
      for _, turn in ipairs(turns) do
        if left > 0 and turn.left > 0 then
          turn.left = turn.left - 1
          left = left - 1
          is_moving = true
          if turn.number == tonumber(worker) then share = share + 1 end
        end
      end
    end
    share = math.min(share, math.max(0, most - others))
    call('HSET', connections, worker, math.max(held, share) .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
    return share
    """#)
}

extension RedisQueue {
  package func shareConnections(
    _ seat: WorkerSeat, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int? {
    let reply = try run(.share, app: seat.app) {
      $0.add(seat.number)
      $0.add(held)
      $0.add(wanted)
      $0.add(isNeeded ? 1 : 0)
      $0.add(most)
    }
    guard let share = reply.number else { throw strange("share") }
    return share < 0 ? nil : Int(share)
  }
}
