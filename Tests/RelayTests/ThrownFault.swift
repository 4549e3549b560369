/// What the error says that this throws, and nothing if it throws none.
func fault(_ act: () throws -> some Any) -> String {
  do {
    _ = try act()
    return ""
  } catch {
    return "\(error)"
  }
}
