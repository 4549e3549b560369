extension RedisScript {
  /// Leases a worker's connection quota, with the rules of `ConnectionQuotas`. ARGV: worker ID,
  /// open connections, wanted connections, 1 if needed, the limit for all workers.
  fileprivate static let quota = RedisScript(
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
    local quota, left, is_moving = 0, most, true
    while left > 0 and is_moving do
      is_moving = false
      for _, turn in ipairs(turns) do
        if left > 0 and turn.left > 0 then
          turn.left = turn.left - 1
          left = left - 1
          is_moving = true
          if turn.number == tonumber(worker) then quota = quota + 1 end
        end
      end
    end
    quota = math.min(quota, math.max(0, most - others))
    call('HSET', connections, worker, math.max(held, quota) .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
    return quota
    """#)
}

extension RedisQueue {
  package func leaseConnections(
    _ workerID: WorkerID, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int? {
    let reply = try run(
      .quota, app: workerID.app, "\(workerID.number)", "\(held)", "\(wanted)", isNeeded ? "1" : "0",
      "\(most)")
    guard let quota = reply.number else { throw strange("quota") }
    return quota < 0 ? nil : Int(quota)
  }
}
