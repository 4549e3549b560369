extension JSONFault.Reason {
  /// Texts of JSON errors, in the order of the cases.
  package var words: UnsafeRawBufferPointer {
    WordList(
      """
      the JSON ends too early
      not a JSON value
      expected a key in quotation marks or '}'
      expected a key in quotation marks
      expected ':' after the key
      expected ',' or ']'
      expected ',' or '}'
      there is text after the end
      not a JSON number
      a control character in a string is not escaped
      not a JSON escape
      half a surrogate pair
      not UTF-8
      nested deeper than 512
      the JSON's own quotation marks are escaped: it was encoded twice
      the JSON is in UTF-16, and has to be in UTF-8

      """)[Int(rawValue)]
  }
}
