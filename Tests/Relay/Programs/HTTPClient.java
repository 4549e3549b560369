import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** HTTPClient.java PORT TOKEN TOPIC: like http_clients.py, with java.net.http, which offers an HTTP/2 upgrade. */
class HTTPClient {
    public static void main(String[] words) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + words[0] + "/3/device/" + words[1]))
            .header("apns-topic", words[2])
            .POST(HttpRequest.BodyPublishers.ofString("{\"aps\":{\"alert\":\"Hello\"}}")).build();
        for (int count = 0; count < 2; count++) {
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.headers().firstValue("apns-id").orElse("none"));
        }
    }
}
