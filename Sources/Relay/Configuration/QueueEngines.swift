/// The engines that a queue may have, a line each. Without any other name the queue is a file of
/// the first one.
let queueEngines: [any QueueLocation.Type] = [
  SQLiteLocation.self,
  RedisLocation.self,
]
