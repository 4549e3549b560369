extension JSONFault.Reason {
  /// What was wrong with JSON.
  /// In the order of the cases.
  var words: UnsafeRawBufferPointer {
    WordList(
      """
      the JSON ends too early
      not a JSON value
      neither a key in quotation marks nor '}'
      not a key in quotation marks
      no ':' behind the key
      neither ',' nor ']'
      neither ',' nor '}'
      something follows the end
      not a number as JSON has them
      a control character in a string is not escaped
      no escape that JSON has
      half a surrogate pair
      not UTF-8
      nested deeper than 512

      """)[Int(rawValue)]
  }
}

extension Message {
  /// Words of our own.
  @inline(never)
  mutating func append(words: UnsafeRawBufferPointer) {
    for byte in words { append(byte: byte) }
  }

  /// Text of the caller's; what is not UTF-8 in it becomes question marks.
  @inline(never)
  mutating func append(text: UnsafeRawBufferPointer) {
    var index = 0
    // A name that fills the line would leave no room for what is said of it.
    while index < text.count, count < Self.capacity / 2 {
      let length = UTF8Text.decode(text, at: index)?.length ?? 0
      if length == 0 { append(byte: 0x3F) }
      for step in 0..<length { append(byte: text[index &+ step]) }
      index &+= max(1, length)
    }
    if index < text.count { append("...") }
  }
}
