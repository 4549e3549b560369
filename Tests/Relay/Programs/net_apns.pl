# net_apns.pl PORT FEEDBACK_PORT CERTIFICATE TOKENS: pushes as Net::APNS did: the simple format over IO::Socket::SSL,
# and no error packet is read. Then it reads the feedback list. Prints a line for each reported token, after "feedback".
use strict;
use IO::Socket::SSL;
my ($port, $feedback_port, $certificate, $tokens) = @ARGV;

sub gateway {
    IO::Socket::SSL->new(
        PeerAddr => 'localhost', PeerPort => shift, SSL_cert_file => $certificate, SSL_key_file => $certificate,
        SSL_verify_mode => SSL_VERIFY_NONE) or die $SSL_ERROR;
}

open my $file, '<', $tokens or die $!;
my $payload = '{"aps":{"alert":"Hello","badge":1}}';
my $socket;
for my $token (map { split } <$file>) {
    $socket ||= gateway($port);
    print $socket chr(0) . pack('n', 32) . pack('H*', $token) . pack('n', length $payload) . $payload;
}
$socket->close if $socket;
my $feedback = gateway($feedback_port);
while (read $feedback, my $tuple, 38) {
    my ($time, $length, $token) = unpack 'NnH*', $tuple;
    print "feedback $token\n";
}
