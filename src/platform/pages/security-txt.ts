import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";
import { DAY_MS } from "../durations.ts";
import { realTime } from "../tasks/real-time.ts";

const PATH = "/.well-known/security.txt";
/** The standard recommends less than a year; each answer starts again. */
const VALID_MS = 90 * DAY_MS;

type SecurityTxtDeps = {
  /** Where to report a vulnerability, as URIs; empty: there is no such file. */
  security_contacts: readonly string[];
  /** The configured one: a URL that was only derived may not be the one that people know. */
  public_url: string | undefined;
  clock: Clock;
};

/** Tells researchers where to report a vulnerability (RFC 9116). */
export function addSecurityTxt(app: FastifyInstance, deps: SecurityTxtDeps): void {
  if (deps.security_contacts.length === 0) return;
  app.get(PATH, async (_request, reply) =>
    reply.type("text/plain; charset=utf-8").send(securityText(deps, realTime(deps.clock))),
  );
}

function securityText({ security_contacts, public_url }: SecurityTxtDeps, now: Date): string {
  // A whole day, so that the file is the same for everybody who reads it on one day.
  const day_ms = Math.floor((now.getTime() + VALID_MS) / DAY_MS) * DAY_MS;
  const expires = new Date(day_ms).toISOString().replace(".000Z", "Z");
  const lines = [
    ...security_contacts.map((contact) => `Contact: ${contact}`),
    `Expires: ${expires}`,
    "Preferred-Languages: en",
    ...(public_url ? [`Canonical: ${public_url}${PATH}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}
