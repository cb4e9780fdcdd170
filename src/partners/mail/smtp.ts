import { createTransport } from "nodemailer";
import { SECOND_MS } from "../../platform/durations.ts";
import { isLoopbackHost } from "../outbound-http/address-policy.ts";
import { type MailPort, MailRefusedError } from "./port.ts";

type SmtpSettings = { url: string; from: string };

const TIMEOUT_MS = 20 * SECOND_MS;
const PERMANENT_MIN = 500;

/** Mail over SMTP: `smtps` is TLS from the start, `smtp` changes to it before anything is sent. */
export function createSmtpMail({ url, from }: SmtpSettings): MailPort {
  const { protocol, hostname, port, username, password } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const transport = createTransport({
    host,
    port: Number(port) || (protocol === "smtps:" ? 465 : 587),
    secure: protocol === "smtps:",
    // A password or a link must not cross a network in clear text.
    requireTLS: protocol === "smtp:" && !isLoopbackHost(host),
    ...(username
      ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }
      : {}),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf("@") + 1).replace(/>$/, "");
  return {
    send: async ({ id, to, subject, text }) => {
      // As an object: a text would be parsed as a list of addresses.
      const address = { name: "", address: to };
      const messageId = `<${id}@${domain}>`;
      try {
        await transport.sendMail({ from, to: address, subject, text, messageId });
      } catch (error) {
        const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
        if (code !== "EENVELOPE" || responseCode < PERMANENT_MIN) throw error;
        throw new MailRefusedError(`the mail server refused the address (${responseCode})`);
      }
    },
  };
}
