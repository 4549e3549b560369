<?php
/**
 * A widely copied service class of 2012, with its constructor and its methods. Comments
 * describe the old code where it changed.
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
        // Was an array for json_encode(), of any length. This payload is truncated,
        // between characters, to the limit.
        $payload = new Apns\Payload(truncate: true);
        if ($this->badge) {
            $payload->set('badge', (int) $this->badge);
        }
        if ($this->sound) {
            $payload->set('sound', $this->sound);
        }
        return $payload->set('alert', $this->message);
    }

    // Was two methods that got the directory from the framework.
    private function getCertFile($isSandbox)
    {
        $directory = getenv('APNS_CERTIFICATE_DIRECTORY') ?: __DIR__;
        return $directory . ($this->ispad ? '/hd' : '/iphone') . ($isSandbox ? 'Dev.pem' : 'Dis.pem');
    }

    // Was getApplePushUrl(), with the two hosts confused, and those of the binary interface,
    // which Apple switched off in 2021. Settings in php.ini (apns.host with apns.protocol)
    // replace this, for a gateway other than Apple's.
    private function getGateway($isSandbox)
    {
        return ['environment' => $isSandbox ? 'sandbox' : 'production', 'outcomes' => 'failures'];
    }

    private function sendPushInfo($isSandbox = false)
    {
        try {
            // Was a new connection for every message. This one stays with the process,
            // and the next request with its name uses it.
            $session = Apns\Session::persistent(
                ($this->ispad ? 'ipad' : 'iphone') . ($isSandbox ? ' sandbox' : ''),
                ['certificate_file' => $this->getCertFile($isSandbox)],
                $this->getGateway($isSandbox)
            );
            // Was pack() and fwrite(), with an unchecked result.
            $session->send($this->token, $this->getPayload(), ['token' => $this->token]);
            // The outcomes that have arrived, for this message and for earlier ones.
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
