import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openMail } from "../../src/partners/mail/open-mail.ts";
import { MailRefusedError } from "../../src/partners/mail/port.ts";
import { createSmtpMail } from "../../src/partners/mail/smtp.ts";
import { readConfig } from "../../src/platform/config/config.ts";

const FROM = "Sliproad <no-reply@example.test>";

/** A mail server that speaks just enough SMTP, without TLS, and keeps what it was sent. */
function startMailServer() {
  const received: string[] = [];
  const server = createServer((socket) => talk(socket, received));
  return new Promise<{ server: Server; received: string[]; port: number }>((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      resolve({ server, received, port });
    }),
  );
}

function talk(socket: Socket, received: string[]): void {
  let text = "";
  let data: string | null = null;
  socket.write("220 mail.example.test ESMTP\r\n");
  const answer = (line: string): string => {
    if (/^EHLO/i.test(line)) return "250-mail.example.test\r\n250 AUTH PLAIN";
    if (/^AUTH PLAIN/i.test(line)) {
      const given = Buffer.from(line.split(" ")[2] ?? "", "base64").toString();
      return given === "\0mailer@host\0s3cret/" ? "235 ok" : "535 wrong";
    }
    if (/^RCPT TO:<nobody@/i.test(line)) return "550 no such mailbox";
    if (/^RCPT TO:<later@/i.test(line)) return "451 try again later";
    if (/^DATA/i.test(line)) {
      data = "";
      return "354 go on";
    }
    return /^QUIT/i.test(line) ? "221 bye" : "250 ok";
  };
  socket.on("data", (bytes) => {
    text += bytes;
    for (let end = text.indexOf("\r\n"); end >= 0; end = text.indexOf("\r\n")) {
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      if (data === null) {
        socket.write(`${answer(line)}\r\n`);
      } else if (line === ".") {
        received.push(data);
        data = null;
        socket.write("250 queued\r\n");
      } else {
        data += `${line}\n`;
      }
    }
  });
  socket.on("error", () => {});
}

let mail_server: Awaited<ReturnType<typeof startMailServer>>;
beforeAll(async () => {
  mail_server = await startMailServer();
});
afterAll(() => void mail_server.server.close());

const mailTo = (to: string) => ({
  ...{ id: crypto.randomUUID(), to, subject: "Grüße", expires_at: new Date() },
  text: "One line\nhttp://127.0.0.1/set-password?token=abc\n",
});
const urlOf = (user: string) => `smtp://${user}@127.0.0.1:${mail_server.port}`;

describe("mail over SMTP", () => {
  it("arrives with sender, recipient, subject and an id that stays the same", async () => {
    const mail = mailTo("ana@example.test");
    await createSmtpMail({ url: urlOf("mailer%40host:s3cret%2F"), from: FROM }).send(mail);
    const text = mail_server.received.at(-1)!;
    expect(text).toContain("From: Sliproad <no-reply@example.test>");
    expect(text).toContain("To: ana@example.test");
    expect(text).toContain(`Message-ID: <${mail.id}@example.test>`);
    expect(text).toMatch(/^Subject: =\?UTF-8\?/m);
    expect(text.replaceAll("=\n", "").replaceAll("=3D", "=")).toContain("set-password?token=abc");
  });

  it("is given up when the server refuses the address, and tried again otherwise", async () => {
    const port = createSmtpMail({ url: urlOf("mailer%40host:s3cret%2F"), from: FROM });
    await expect(port.send(mailTo("nobody@example.test"))).rejects.toThrow(MailRefusedError);
    for (const failing of [
      { url: urlOf("mailer%40host:s3cret%2F"), to: "later@example.test" },
      { url: urlOf("mailer:wrong"), to: "ana@example.test" },
      { url: "smtp://127.0.0.1:1", to: "ana@example.test" },
    ]) {
      const { send } = createSmtpMail({ url: failing.url, from: FROM });
      const error = await send(mailTo(failing.to)).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(MailRefusedError);
    }
  });

  it("needs its settings: both or none, and both in live mode", () => {
    const open = (environment: Record<string, string>, mode: "sandbox" | "live" = "sandbox") =>
      openMail({ config: { ...readConfig(environment), mode } } as never);
    const SLIPROAD_SMTP_URL = "smtps://mail.example.test";
    expect(() => open({ SLIPROAD_SMTP_URL })).toThrow(/must be set together/);
    expect(() => open({}, "live")).toThrow(/^SLIPROAD_SMTP_URL .* in live mode/);
    expect(() => open({ SLIPROAD_SMTP_URL, SLIPROAD_SMTP_FROM: FROM }, "live")).not.toThrow();
    expect(() => readConfig({ SLIPROAD_SMTP_FROM: "a\r\nBcc: b@example.test" })).toThrow(
      /must be an e-mail address/,
    );
    expect(() => readConfig({ SLIPROAD_SMTP_URL: "http://mail" })).toThrow(/must be a URL such as/);
  });
});
