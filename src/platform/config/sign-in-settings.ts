import { integer, matching, oneOf, optional, secret, urlOf } from "./setting-kinds.ts";

/** Words joined by single dots, as for all members (`accounts/person-email.ts`). */
const EMAIL =
  /^(?=.{1,254}$)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z\d-]+(?:\.[a-z\d-]+)*$/i;

/** The settings of members, their mail and their sessions. */
export const SIGN_IN_SETTINGS = {
  admin_email: optional(
    "SLIPROAD_ADMIN_EMAIL",
    "E-mail address of the first person who can sign in. Default: `admin@sliproad.test`.",
    matching(EMAIL, "must be an e-mail address"),
  ),
  admin_password: secret(
    "SLIPROAD_ADMIN_PASSWORD",
    "Password of that person, used on the first start. Generated and printed if not set.",
    matching(/^.{12,200}$/s, "must have 12 to 200 characters"),
  ),
  smtp_url: secret(
    "SLIPROAD_SMTP_URL",
    "The mail server for invitations, links to reset a password and security notices. `smtp` " +
      "requires STARTTLS except on loopback, `smtps` is TLS from the start. Live mode requires " +
      "it; without it the sandbox keeps its mail for `/dashboard/outbox` and `sliproad outbox`.",
    urlOf(/^smtps?:$/, "smtps://user:password@mail.example.com"),
  ),
  smtp_from: optional(
    "SLIPROAD_SMTP_FROM",
    "The sender of that mail, such as `Sliproad <no-reply@example.com>`.",
    matching(/^([^<>@\r\n]+<)?[^\s<>@]+@[^\s<>@]+>?$/, "must be an e-mail address"),
  ),
  second_factor: optional(
    "SLIPROAD_SECOND_FACTOR",
    "Who needs a second factor to sign in: `all` members, those who can vote (`required`: " +
      "admins, finance managers, approvers), or nobody (`optional`). Default: `required` in " +
      "live mode, which refuses `optional`; `optional` in sandbox.",
    oneOf(["all", "required", "optional"]),
  ),
  session_hours: integer(
    "SLIPROAD_SESSION_HOURS",
    1,
    168,
    12,
    "How long after signing in a member has to sign in again.",
  ),
  session_idle_minutes: integer(
    "SLIPROAD_SESSION_IDLE_MINUTES",
    5,
    10_080,
    60,
    "How long a session lasts without being used.",
  ),
} as const;
