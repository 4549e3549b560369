/// A place in a text, counted in Unicode characters from 1.
struct TextPlace {
  var line: UInt32 = 1
  var column: UInt32 = 1
}
