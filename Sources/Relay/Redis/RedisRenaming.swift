/// Renames the keys of a queue that a relay before 0.2.0 has filled.
extension RedisQueue {
  /// The old and the new names.
  static let renamedKeys = [
    ("stories", "histories"), ("answers", "deferrals"), ("seats", "worker_ids"),
    ("bad", "bad_tokens"), ("notes", "app_state"),
  ]

  /// KEYS: old and new names in turn. If both exist, an old relay has run next to a new one, and
  /// the values are merged. The first command is a write that needs no memory, so a full Redis
  /// accepts the script.
  private static let rename = #"""
    local call = redis.call
    call('HDEL', KEYS[2], '')
    local merge = {
      stories = function(old, new) return new and old .. '\n' .. new or old end,
      answers = function(old, new)
        return string.format('%.0f', (tonumber(old) or 0) + (tonumber(new) or 0))
      end,
      notes = function(old, new) return new or old end,
    }
    for place = 1, #KEYS, 2 do
      local old, new = KEYS[place], KEYS[place + 1]
      if call('EXISTS', new) == 0 then
        if call('EXISTS', old) == 1 then call('RENAME', old, new) end
      elseif call('EXISTS', old) == 1 then
        local name = string.match(old, '([^:]*)$')
        if name == 'seats' then
          local count = tonumber(call('GET', old)) or 0
          if count > (tonumber(call('GET', new)) or 0) then call('SET', new, call('GET', old)) end
        elseif name == 'bad' then
          call('ZUNIONSTORE', new, 2, old, new, 'AGGREGATE', 'MAX')
        else
          local all = call('HGETALL', old)
          for index = 1, #all, 2 do
            local value = call('HGET', new, all[index])
            call('HSET', new, all[index], merge[name](all[index + 1], value))
          end
        end
        call('DEL', old)
      end
    end
    return 1
    """#

  func renameKeys(of app: String) throws {
    var command = RedisCommand("EVAL", Self.rename, "\(2 * Self.renamedKeys.count)")
    for (old, new) in Self.renamedKeys {
      command.add("apns:{\(app)}:\(old)")
      command.add("apns:{\(app)}:\(new)")
    }
    _ = try connections.use(Self.key(app), isRepeatable: true) { try $0.demand(command) }
  }
}
