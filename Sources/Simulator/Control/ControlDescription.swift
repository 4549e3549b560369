import JSON

/// The control API as OpenAPI 3.1.
struct ControlDescription {
  let routes: [ControlRoute]

  var json: String {
    let paths = Dictionary(grouping: routes, by: \.path).sorted { $0.key < $1.key }
    return """
      {"openapi":"3.1.0",\
      "info":{"title":"apns simulate, the control API","version":"1"},\
      "servers":[{"url":"."}],\
      "paths":{\(paths.map(Self.path).joined(separator: ","))},\
      "components":{"schemas":{"Error":{"type":"object","required":["error"],\
      "properties":{"error":{"type":"string"}}}}}}
      """
  }

  private static func path(_ path: String, _ routes: [ControlRoute]) -> String {
    let methods = routes.map { "\"\($0.method.lowercased())\":\(operation($0))" }
    return "\(JSONLiteral.string(path)):{\(methods.joined(separator: ","))}"
  }

  private static func operation(_ route: ControlRoute) -> String {
    var parameters = route.fields.map { parameter($0, in: "query") }
    if route.path.contains(ControlRoute.number) {
      parameters.append(parameter(.required("number", "integer"), in: "path"))
    }
    var members = [
      "\"operationId\":\"\(route.call)\"", "\"summary\":\(JSONLiteral.string(route.text))",
    ]
    if !parameters.isEmpty {
      members.append("\"parameters\":[\(parameters.joined(separator: ","))]")
    }
    if let body = route.body {
      // A world has a body only if it has options.
      let isRequired = route.call != .makeWorld
      members.append(
        "\"requestBody\":{\"required\":\(isRequired),\"content\":\(content(object(body)))}")
    }
    let error = content("{\"$ref\":\"#/components/schemas/Error\"}")
    members.append(
      """
      "responses":{"\(route.status)":{"description":"done",\
      "content":\(content("{\"type\":\"object\"}"))},\
      "default":{"description":"an error, and nothing changed","content":\(error)}}
      """)
    return "{\(members.joined(separator: ","))}"
  }

  private static func parameter(_ field: ControlRoute.Field, in place: String) -> String {
    """
    {"name":"\(field.name)","in":"\(place)","required":\(field.isRequired),\
    "schema":\(schema(field))}
    """
  }

  private static func content(_ schema: String) -> String {
    "{\"application/json\":{\"schema\":\(schema)}}"
  }

  private static func object(_ fields: [ControlRoute.Field]) -> String {
    let required = fields.filter(\.isRequired).map { "\"\($0.name)\"" }
    let properties = fields.map { "\"\($0.name)\":\(schema($0))" }
    return """
      {"type":"object","required":[\(required.joined(separator: ","))],\
      "properties":{\(properties.joined(separator: ","))}}
      """
  }

  private static func schema(_ field: ControlRoute.Field) -> String {
    var members: [String] = []
    if let type = field.type { members.append("\"type\":\"\(type)\"") }
    if !field.text.isEmpty { members.append("\"description\":\(JSONLiteral.string(field.text))") }
    return "{\(members.joined(separator: ","))}"
  }
}
