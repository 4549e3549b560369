<?php

namespace Apns\Laravel;

class ApnsMessage
{
    /**
     * The parts of the alert, by Apple's names.
     *
     * @var array
     */
    public $alert = [];

    /**
     * The other keys of "aps", by Apple's names.
     *
     * @var array
     */
    public $aps = [];

    /**
     * The app's own keys.
     *
     * @var array
     */
    public $custom = [];

    /**
     * The options of \Apns\Session::push(), by the names of its parameters.
     *
     * @var array
     */
    public $options = [];

    /**
     * Create a new message instance.
     *
     * @param  string|null  $title
     * @param  string|null  $body
     * @param  array  $custom
     * @param  int|null  $badge
     * @return void
     */
    public function __construct($title = null, $body = null, array $custom = [], $badge = null)
    {
        $this->alert = array_filter(['title' => $title, 'body' => $body], 'is_string');
        $this->aps = array_filter(['badge' => $badge], 'is_int');
        $this->custom = $custom;
    }

    /**
     * Create a new message instance.
     *
     * @param  string|null  $title
     * @param  string|null  $body
     * @param  array  $custom
     * @param  int|null  $badge
     * @return static
     */
    public static function create($title = null, $body = null, array $custom = [], $badge = null)
    {
        return new static($title, $body, $custom, $badge);
    }

    /**
     * Set the alert's title.
     *
     * @param  string  $title
     * @return $this
     */
    public function title($title)
    {
        return $this->with('alert', 'title', $title);
    }

    /**
     * Set the alert's subtitle.
     *
     * @param  string  $subtitle
     * @return $this
     */
    public function subtitle($subtitle)
    {
        return $this->with('alert', 'subtitle', $subtitle);
    }

    /**
     * Set the alert's text.
     *
     * @param  string  $body
     * @return $this
     */
    public function body($body)
    {
        return $this->with('alert', 'body', $body);
    }

    /**
     * Set the number on the app's icon.
     *
     * @param  int  $badge
     * @return $this
     */
    public function badge($badge)
    {
        return $this->with('aps', 'badge', $badge);
    }

    /**
     * Set the sound.
     *
     * @param  string  $sound
     * @return $this
     */
    public function sound($sound = 'default')
    {
        return $this->with('aps', 'sound', $sound);
    }

    /**
     * Set the category, which decides about action buttons.
     *
     * @param  string  $category
     * @return $this
     */
    public function category($category)
    {
        return $this->with('aps', 'category', $category);
    }

    /**
     * Set the thread by which the device groups notifications.
     *
     * @param  string  $threadId
     * @return $this
     */
    public function threadId($threadId)
    {
        return $this->with('aps', 'thread-id', $threadId);
    }

    /**
     * Wake the app up.
     *
     * @param  int  $value
     * @return $this
     */
    public function contentAvailable($value = 1)
    {
        return $this->with('aps', 'content-available', $value);
    }

    /**
     * Let the app's service extension change the notification.
     *
     * @param  int  $value
     * @return $this
     */
    public function mutableContent($value = 1)
    {
        return $this->with('aps', 'mutable-content', $value);
    }

    /**
     * Set the interruption level.
     *
     * @param  string  $level
     * @return $this
     */
    public function interruptionLevel($level)
    {
        return $this->with('aps', 'interruption-level', $level);
    }

    /**
     * Add a key of the app.
     *
     * @param  string  $key
     * @param  mixed  $value
     * @return $this
     */
    public function custom($key, $value)
    {
        return $this->with('custom', $key, $value);
    }

    /**
     * Set until when APNs keeps trying.
     *
     * @param  \DateTimeInterface|int  $expiresAt
     * @return $this
     */
    public function expiresAt($expiresAt)
    {
        return $this->with('options', 'expiry', $expiresAt);
    }

    /**
     * Set the priority: 10, 5 or 1.
     *
     * @param  \Apns\Priority|int  $priority
     * @return $this
     */
    public function priority($priority)
    {
        return $this->with('options', 'priority', $priority);
    }

    /**
     * Set the push type.
     *
     * @param  \Apns\PushType|string  $pushType
     * @return $this
     */
    public function pushType($pushType)
    {
        return $this->with('options', 'pushType', $pushType);
    }

    /**
     * Set the collapse ID: a later notification with the same one replaces this one on the device.
     *
     * @param  string  $collapseId
     * @return $this
     */
    public function collapseId($collapseId)
    {
        return $this->with('options', 'collapseId', $collapseId);
    }

    /**
     * Set the topic, instead of the bundle ID.
     *
     * @param  string  $topic
     * @return $this
     */
    public function topic($topic)
    {
        return $this->with('options', 'topic', $topic);
    }

    /**
     * Get the payload.
     *
     * @return array
     */
    public function toPayload()
    {
        return ['aps' => ($this->alert ? ['alert' => $this->alert] : []) + $this->aps] + $this->custom;
    }

    /**
     * Set a member of a property.
     *
     * @param  string  $property
     * @param  string  $key
     * @param  mixed  $value
     * @return $this
     */
    private function with($property, $key, $value)
    {
        $this->{$property}[$key] = $value;

        return $this;
    }
}
