/// The message of the error that this throws; empty if it throws none.
func fault(_ act: () throws -> some Any) -> String {
  do {
    _ = try act()
    return ""
  } catch {
    return "\(error)"
  }
}
