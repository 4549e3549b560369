<?php
/**
 * A service class as it went round in 2012, with its constructor and its methods. What
 * changed stands where it did.
 */
class ApnsService
{
    public $token;
    public $message;
    public $badge = 1;
    public $sound;
    public $ispad;

    public function __construct($token, $message, $badge = null, $sound = null, $ispad = 0)
    {
        $this->token = $token;
        $this->message = $message;
        $this->badge = $badge;
        $this->sound = $sound;
        $this->ispad = (int) $ispad;
    }

    public function send()
    {
        return $this->sendPushInfo();
    }

    public function sandboxSend()
    {
        return $this->sendPushInfo(true);
    }

    private function getPayload()
    {
        // Was an array for json_encode(), of any length. This one is cut, between
        // characters, to what the gateway takes.
        $payload = new Apns\Payload(truncate: true);
        if ($this->badge) {
            $payload->set('badge', (int) $this->badge);
        }
        if ($this->sound) {
            $payload->set('sound', $this->sound);
        }
        return $payload->set('alert', $this->message);
    }

    // Were two methods, and asked the framework for the directory.
    private function getCertFile($isSandbox)
    {
        $directory = getenv('APNS_CERTIFICATE_DIRECTORY') ?: __DIR__;
        return $directory . ($this->ispad ? '/hd' : '/iphone') . ($isSandbox ? 'Dev.pem' : 'Dis.pem');
    }

    // Was getApplePushUrl(), which had the two hosts the wrong way round, and those of the
    // binary interface, which Apple switched off in 2021. What php.ini says (apns.host with
    // apns.protocol) goes first, for a gateway that is not Apple's.
    private function getGateway($isSandbox)
    {
        return ['environment' => $isSandbox ? 'sandbox' : 'production'];
    }

    private function sendPushInfo($isSandbox = false)
    {
        try {
            // Was a new connection for every message. This one stays with the process,
            // and the next request that asks for its name finds it.
            $session = Apns\Session::persistent(
                ($this->ispad ? 'ipad' : 'iphone') . ($isSandbox ? ' sandbox' : ''),
                ['certificate_file' => $this->getCertFile($isSandbox)],
                $this->getGateway($isSandbox)
            );
            // Was pack() and fwrite(), whose end nobody looked at.
            $session->send($this->token, $this->getPayload(), ['token' => $this->token]);
            // What the gateway has said since, of this message and of earlier ones.
            foreach ([$session->events(), $session->leftEvents()] as $outcomes) {
                foreach ($outcomes as $event) {
                    print "To $event->token $event->why\n";
                }
            }
        } catch (Apns\Exception $failure) {
            print "Failed to send: {$failure->getMessage()}\n";
            return false;
        }
        return true;
    }
}
