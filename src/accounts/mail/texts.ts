import { DAY_MS, HOUR_MS } from "../../platform/durations.ts";

/** What a mail is about, and how long it may wait for the mail server. */
export const MAIL_KINDS = {
  invitation: { waits_ms: 3 * DAY_MS },
  reset: { waits_ms: HOUR_MS },
  membership: { waits_ms: 3 * DAY_MS },
  password_changed: { waits_ms: 3 * DAY_MS },
  factor_added: { waits_ms: 3 * DAY_MS },
  factor_removed: { waits_ms: 3 * DAY_MS },
  app_removed: { waits_ms: 3 * DAY_MS },
  passkey_added: { waits_ms: 3 * DAY_MS },
  passkey_removed: { waits_ms: 3 * DAY_MS },
  passkey_copied: { waits_ms: 3 * DAY_MS },
  recovery_code_used: { waits_ms: 3 * DAY_MS },
} as const satisfies Record<string, { waits_ms: number }>;

export type MailKind = keyof typeof MAIL_KINDS;

type Facts = {
  public_url: string;
  account_name: string;
  /** With which the reader sets a password. */
  link: string;
};

/** Subject and text of a mail. Plain text: a mail client cannot hide what a link leads to. */
export function mailText(kind: MailKind, facts: Facts): { subject: string; text: string } {
  const { subject, lines } = TEXTS[kind](facts);
  return { subject, text: `${lines.join("\n\n")}\n\nSliproad at ${facts.public_url}\n` };
}

const LINK_RULE = "The link works once, within one hour.";
const NOT_YOU =
  "If this was not you, reset your password now and tell an admin of your account: somebody else " +
  "may have access to it.";

const TEXTS: Record<MailKind, (facts: Facts) => { subject: string; lines: string[] }> = {
  invitation: ({ account_name, link, public_url }) => ({
    subject: `Invitation to ${account_name} on Sliproad`,
    lines: [
      `You were invited to the account ${account_name}. Choose a password to accept:`,
      link,
      `${LINK_RULE} Afterwards, request another one at ${public_url}/forgot-password.`,
    ],
  }),
  reset: ({ link }) => ({
    subject: "Reset your Sliproad password",
    lines: [
      "Somebody, probably you, asked to reset your password. Choose a new one:",
      link,
      `${LINK_RULE} If you did not ask for it, do nothing: your password stays as it is.`,
    ],
  }),
  membership: ({ account_name, public_url }) => ({
    subject: `You are now a member of ${account_name} on Sliproad`,
    lines: [
      `You were added to the account ${account_name}. Sign in with your password as before:`,
      `${public_url}/sign-in`,
    ],
  }),
  password_changed: () => ({
    subject: "Your Sliproad password was changed",
    lines: ["Your password was changed, and all other sessions were ended.", NOT_YOU],
  }),
  factor_added: () => ({
    subject: "A second factor was added to your Sliproad sign-in",
    lines: ["From now on you need a second factor to sign in.", NOT_YOU],
  }),
  factor_removed: () => ({
    subject: "The second factor of your Sliproad sign-in was removed",
    lines: ["Your second factor and your recovery codes are no longer valid.", NOT_YOU],
  }),
  app_removed: () => ({
    subject: "The authenticator app of your Sliproad sign-in was removed",
    lines: ["Its codes are no longer valid. Your passkeys and recovery codes still are.", NOT_YOU],
  }),
  passkey_added: () => ({
    subject: "A passkey was added to your Sliproad sign-in",
    lines: [
      "You can sign in with it alone, or use it as second factor after your password.",
      NOT_YOU,
    ],
  }),
  passkey_removed: () => ({
    subject: "A passkey of your Sliproad sign-in was removed",
    lines: ["It is no longer valid. Your other second factors and recovery codes are.", NOT_YOU],
  }),
  passkey_copied: () => ({
    subject: "A passkey of your Sliproad sign-in was refused",
    lines: [
      "Its counter did not increase, so another device may have a copy of it. Sign in another " +
        "way and remove this passkey.",
      NOT_YOU,
    ],
  }),
  recovery_code_used: () => ({
    subject: "A recovery code of your Sliproad sign-in was used",
    lines: ["You gave a recovery code, which cannot be used again.", NOT_YOU],
  }),
};
