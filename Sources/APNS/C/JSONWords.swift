extension JSONFault.Reason {
  /// What is wrong with the JSON, in the order of the cases.
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
