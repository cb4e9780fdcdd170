export const REPLAY_TASK = "replay-webhooks";
export const TRIM_EVENTS_TASK = "trim-events";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed", "skipped"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** How much of a response is stored. */
export const ANSWER_BYTES_MAX = 16 * 1024;
