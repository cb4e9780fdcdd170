export type Mail = {
  /** The same for every attempt to send it. */
  id: string;
  to: string;
  subject: string;
  text: string;
  /** When what it contains is of no more use; real time. */
  expires_at: Date;
};

/** Sends one mail, or throws: a `MailRefusedError` when another attempt would fail as well. */
export type MailPort = { send(mail: Mail): Promise<void> };

export class MailRefusedError extends Error {}
