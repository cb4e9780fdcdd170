import { argon2Sync } from "node:crypto";

/** Of every member that tests add. */
export const PASSWORD = "correct horse battery";

const SALT = Buffer.from("sixteen bytes...");

/**
 * What is stored of it, with the least work: sign-ins take the parameters from the hash. With the
 * service's own each costs 50 ms of the processor, and tests sign in many hundreds of times.
 */
export const PASSWORD_HASH = toPhc(
  argon2Sync("argon2id", {
    ...{ message: PASSWORD, nonce: SALT, tagLength: 32 },
    ...{ memory: 8, passes: 1, parallelism: 1 },
  }),
);

function toPhc(hash: Buffer): string {
  const [salt, tag] = [SALT, hash].map((bytes) => bytes.toString("base64").replaceAll("=", ""));
  return `$argon2id$v=19$m=8,t=1,p=1$${salt}$${tag}`;
}
