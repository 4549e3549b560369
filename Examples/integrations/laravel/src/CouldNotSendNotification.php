<?php

namespace Apns\Laravel;

use Apns\Event;
use RuntimeException;

class CouldNotSendNotification extends RuntimeException
{
    /**
     * The outcome, or null if it was never queued.
     *
     * @var \Apns\Event|null
     */
    public $event;

    /**
     * Why there is no answer, in words.
     *
     * @var string
     */
    protected $why;

    /**
     * Create a new exception instance.
     *
     * @param  \Apns\Event|\Apns\Exception  $end
     * @return void
     */
    public function __construct($end)
    {
        $this->event = $end instanceof Event ? $end : null;
        $this->why = $end instanceof Event ? $end->why : $end->getMessage();

        // The words are not in the message: a queue worker quits if an exception says "Connection reset by peer" or the
        // like, because it believes that its database has gone away.
        $cause = $this->event ? $this->event->kind->name : $end->getCause()?->value;

        parent::__construct('APNs has not answered'.($cause ? ": {$cause}" : ''), 0, $this->event ? null : $end);
    }

    /**
     * Get the context for the log.
     *
     * @return array
     */
    public function context()
    {
        return ['why' => $this->why];
    }
}
