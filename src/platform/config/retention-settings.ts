import { choice, integer } from "./setting-kinds.ts";

/** How long what is not needed for payments is kept. */
export const RETENTION_SETTINGS = {
  retention: choice(
    "SLIPROAD_RETENTION",
    ["delete", "archive"],
    "delete",
    "What happens to bodies of events and webhook deliveries after the days below: Sliproad " +
      "deletes them, or `sliproad archive` moves them into files, and all events of a payout but " +
      "the last. The same for every process.",
  ),
  event_retention_days: integer(
    "SLIPROAD_EVENT_RETENTION_DAYS",
    0,
    36_500,
    90,
    "Days after which the bodies of events are deleted or can be archived, and then the events " +
      "are no longer listed; 0 = never. Minimum 7.",
  ),
  delivery_retention_days: integer(
    "SLIPROAD_DELIVERY_RETENTION_DAYS",
    0,
    36_500,
    30,
    "Days after which webhook deliveries and their attempts are deleted or can be archived; " +
      "0 = never. Minimum 7.",
  ),
  request_log_days: integer(
    "SLIPROAD_REQUEST_LOG_DAYS",
    0,
    365,
    7,
    "Days for which Settings › Developer › Logs keeps requests, at most the newest 100000 of an " +
      "account; 0 = none are kept.",
  ),
};
