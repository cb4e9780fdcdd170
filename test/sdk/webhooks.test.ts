import { WebhookVerificationError, webhooks } from "@sliproad/sdk";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const RAW_SECRET = "my-plain-secret";
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY =
  '{"variant":"svc_invoice","event":"create","timestamp":1720605600000,' +
  '"invoice":{"id":"63f2f5a7f00a45f276585b28"}}';
const SALARY =
  '{"variant":"svc_salary","event":"paid","timestamp":1720605600001,' +
  '"invoice":{"id":"x","note":"Señor €"}}';
const SIGNED_AT = new Date(1_720_605_600_000);

/** Body, secret and the digest in X-Webhook-Signature. */
const INTERFACE_VECTORS = [
  [BODY, SECRET, "02d2c8e431b9f718be25f4354137a5c1b6da15c2a5f88b0acfc89b6662207206"],
  [BODY, RAW_SECRET, "e8d4a98b674883812e8306ef4c50d2944222427e2b8374d1d72e7d674f20af0e"],
  [SALARY, SECRET, "4203d410aa764b45aada27e8a83cf5ae0ee742d28e5a16c8f8813ee36b694ee1"],
] as const;

const OFFICIAL_AT = new Date(1_614_265_330_000);
/** Secret, body, time and webhook-signature; the first vector is Standard Webhooks' own. */
const STANDARD_VECTORS = [
  [SECRET, '{"test": 2432232314}', OFFICIAL_AT, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="],
  [SECRET, BODY, SIGNED_AT, "OZ+WxHEPa+cwHzme3sN/DjTGDbxJmCScN/ZyflArEy4="],
  [RAW_SECRET, BODY, SIGNED_AT, "ezY2ITlppei9VEdhQ9JcH/uA5lLpab7uMQyss8JmUlU="],
  ["whsec_bXktcGxhaW4tc2VjcmV0", BODY, SIGNED_AT, "ezY2ITlppei9VEdhQ9JcH/uA5lLpab7uMQyss8JmUlU="],
] as const;

function standardHeaders(signature: string, at = SIGNED_AT) {
  return {
    "webhook-id": ID,
    "webhook-timestamp": String(at.getTime() / 1000),
    "webhook-signature": signature,
  };
}

async function reasonOf(verification: Promise<unknown>): Promise<string> {
  const error = await verification.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WebhookVerificationError);
  return (error as WebhookVerificationError).reason;
}

describe("X-Webhook-Signature", () => {
  it.each(INTERFACE_VECTORS)("verifies %s signed with %s", async (body, secret, digest) => {
    const headers = { "X-Webhook-Signature": digest };
    const event = await webhooks.verify(body, headers, secret);
    expect(event).toEqual(JSON.parse(body));
    expect(await webhooks.verify(Buffer.from(body), new Headers(headers), secret)).toEqual(event);
    const signed = await webhooks.sign(body, secret);
    expect(signed["x-webhook-signature"]).toBe(digest);
  });

  it("is the HMAC that other implementations compute", async () => {
    const signed = await webhooks.sign("Hello, World!", "It's a Secret to Everybody");
    expect(signed["x-webhook-signature"]).toBe(
      "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    );
  });

  const [, , digest] = INTERFACE_VECTORS[0];
  it.each([
    ["header_missing", ""],
    ["header_malformed", digest.slice(0, -1)],
    ["header_malformed", `sha256=${digest}`],
    ["header_malformed", `${digest}${digest}`],
    ["header_malformed", digest.toUpperCase()],
    ["signature_mismatch", `${digest.slice(0, -1)}7`],
    ["signature_mismatch", `1${digest.slice(1)}`],
  ])("is refused as %s when it is %j", async (reason, signature) => {
    const headers = { "x-webhook-signature": signature };
    expect(await reasonOf(webhooks.verify(BODY, headers, SECRET))).toBe(reason);
  });

  it("does not verify another body, another secret, or the same JSON formatted differently", async () => {
    const headers = { "x-webhook-signature": digest };
    const other = JSON.stringify(JSON.parse(BODY), null, 1);
    expect(await reasonOf(webhooks.verify(other, headers, SECRET))).toBe("signature_mismatch");
    expect(await reasonOf(webhooks.verify(BODY, headers, "other"))).toBe("signature_mismatch");
  });

  it("is refused when it was sent twice", async () => {
    const headers = { "x-webhook-signature": [digest, digest] };
    expect(await reasonOf(webhooks.verify(BODY, headers, SECRET))).toBe("header_malformed");
  });

  it("is not enough if the standard scheme is required", async () => {
    const headers = { "x-webhook-signature": digest };
    const verification = webhooks.verify(BODY, headers, SECRET, { scheme: "standard" });
    expect(await reasonOf(verification)).toBe("header_missing");
  });
});

describe("Standard Webhooks", () => {
  it.each(STANDARD_VECTORS)("secret %s, body %s, at %s", async (secret, body, at, digest) => {
    const headers = standardHeaders(`v1,${digest}`, at);
    expect(await webhooks.verify(body, headers, secret, { now: at })).toEqual(JSON.parse(body));
    const signed = await webhooks.sign(body, secret, { id: ID, timestamp: at });
    expect(signed).toMatchObject(headers);
  });

  const [, , , digest] = STANDARD_VECTORS[1];
  const good = standardHeaders(`v1,${digest}`);

  it("accepts one valid signature of several, and skips other versions", async () => {
    const wrong = `v1,${btoa("x".repeat(32))}`;
    const signature = `v1a,${digest} ${wrong} v2,${digest} v1,${digest}`;
    const headers = standardHeaders(signature);
    expect(await webhooks.verify(BODY, headers, SECRET, { now: SIGNED_AT })).toEqual(
      JSON.parse(BODY),
    );
    for (const refused of [`v1a,${digest}`, `v2,${digest}`, digest, "v1,", `v1,${digest}x`]) {
      const verification = webhooks.verify(BODY, standardHeaders(refused), SECRET, {
        now: SIGNED_AT,
      });
      expect(await reasonOf(verification), refused).toBe("header_malformed");
    }
    const verification = webhooks.verify(BODY, standardHeaders(wrong), SECRET, { now: SIGNED_AT });
    expect(await reasonOf(verification)).toBe("signature_mismatch");
  });

  it.each(Object.keys(good))(
    "is refused without %s, regardless of the other headers",
    async (name) => {
      const headers = {
        ...good,
        "x-webhook-signature": INTERFACE_VECTORS[0][2],
        [name]: undefined,
      };
      const verification = webhooks.verify(BODY, headers, SECRET, { now: SIGNED_AT });
      expect(await reasonOf(verification)).toBe("header_missing");
    },
  );

  it.each([
    ["header_malformed", { "webhook-timestamp": "soon" }],
    ["header_malformed", { "webhook-timestamp": "1720605600.5" }],
    ["header_malformed", { "webhook-timestamp": "-1720605600" }],
    ["header_malformed", { "webhook-signature": good["webhook-signature"].slice(0, -4) }],
    ["signature_mismatch", { "webhook-timestamp": "1720605601" }],
    ["signature_mismatch", { "webhook-id": `${ID}.` }],
  ])("is refused as %s with %j", async (reason, changed) => {
    const headers = { ...good, ...changed };
    const verification = webhooks.verify(BODY, headers, SECRET, { now: SIGNED_AT });
    expect(await reasonOf(verification)).toBe(reason);
  });

  it("is refused outside the tolerance, on either side, and accepted at its limit", async () => {
    const at = (seconds: number, tolerance_seconds?: number) =>
      webhooks.verify(BODY, good, SECRET, {
        now: new Date(SIGNED_AT.getTime() + seconds * 1000),
        tolerance_seconds,
      });
    for (const seconds of [-300, 0, 300]) expect(await at(seconds)).toEqual(JSON.parse(BODY));
    expect(await reasonOf(at(301))).toBe("too_old");
    expect(await reasonOf(at(-301))).toBe("too_new");
    expect(await reasonOf(at(11, 10))).toBe("too_old");
    expect(await at(3600, 3600)).toEqual(JSON.parse(BODY));
  });

  it("takes precedence if both schemes are present: an old request is refused", async () => {
    const headers = { ...good, "x-webhook-signature": INTERFACE_VECTORS[0][2] };
    expect(await reasonOf(webhooks.verify(BODY, headers, SECRET))).toBe("too_old");
    // During a rotation the interface's header still uses the old secret.
    const rotating = { ...good, "x-webhook-signature": "0".repeat(64) };
    const event = await webhooks.verify(BODY, rotating, SECRET, { now: SIGNED_AT });
    expect(event.event).toBe("create");
  });

  it("accepts any of several secrets, for rotation", async () => {
    const signed = await webhooks.sign(BODY, SECRET);
    const both = await webhooks.verify(BODY, signed, ["next-secret", SECRET]);
    expect(both).toEqual(JSON.parse(BODY));
    const verification = webhooks.verify(BODY, signed, ["next-secret", "third"]);
    expect(await reasonOf(verification)).toBe("signature_mismatch");
  });
});

describe("misuse", () => {
  it.each([[""], ["whsec_"], [[]]])("an empty secret (%j) is refused", async (secret) => {
    const signed = await webhooks.sign(BODY, SECRET);
    await expect(webhooks.verify(BODY, signed, secret)).rejects.toThrow(/webhook secret/);
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, "300" as never])(
    "a tolerance of %s is refused: it would accept everything, or nothing",
    async (tolerance_seconds) => {
      const signed = await webhooks.sign(BODY, SECRET);
      for (const headers of [signed, { "x-webhook-signature": signed["x-webhook-signature"] }]) {
        const verification = webhooks.verify(BODY, headers, SECRET, { tolerance_seconds });
        await expect(verification).rejects.toThrow(/^tolerance_seconds must be/);
      }
    },
  );

  it("an unknown scheme, and an invalid time, are refused", async () => {
    const signed = await webhooks.sign(BODY, SECRET);
    const scheme = "Standard" as never;
    await expect(webhooks.verify(BODY, signed, SECRET, { scheme })).rejects.toThrow(/^scheme must/);
    const now = new Date(Number.NaN);
    await expect(webhooks.verify(BODY, signed, SECRET, { now })).rejects.toThrow(/^now must/);
  });

  it("headers may be a record, Headers, a Map or pairs; anything else is refused", async () => {
    const signed = await webhooks.sign(BODY, SECRET);
    const pairs = Object.entries(signed);
    for (const headers of [signed, new Headers(signed), new Map(pairs), pairs]) {
      expect(await webhooks.verify(BODY, headers, SECRET)).toEqual(JSON.parse(BODY));
    }
    for (const wrong of [null, undefined, "", pairs.flat(), [[1, "a"]], { a: 1 }]) {
      const verification = webhooks.verify(BODY, wrong as never, SECRET);
      await expect(verification).rejects.toThrow(/^Pass the headers of the request/);
    }
  });

  it("a header that was sent twice is not a single value, in any form of headers", async () => {
    const { "x-webhook-signature": digest } = await webhooks.sign(BODY, SECRET);
    const forged = "0".repeat(64);
    for (const headers of [
      [["x-webhook-signature", forged] as const, ["X-Webhook-Signature", digest] as const],
      { "x-webhook-signature": forged, "X-Webhook-Signature": digest },
    ]) {
      expect(await reasonOf(webhooks.verify(BODY, headers, SECRET))).toBe("header_malformed");
    }
  });

  it("a parsed body is refused with advice", async () => {
    const signed = await webhooks.sign(BODY, SECRET);
    const verification = webhooks.verify(JSON.parse(BODY), signed, SECRET);
    await expect(verification).rejects.toThrow(/raw body/);
  });

  it("a signed body that is not JSON has its own error", async () => {
    const signed = await webhooks.sign("no json", SECRET);
    expect(await reasonOf(webhooks.verify("no json", signed, SECRET))).toBe("body_unreadable");
    const bytes = new Uint8Array([0x22, 0xff, 0x22]);
    const signed_bytes = await webhooks.sign(bytes, SECRET);
    expect(await reasonOf(webhooks.verify(bytes, signed_bytes, SECRET))).toBe("body_unreadable");
  });
});

describe("other implementations", () => {
  it("standardwebhooks and svix accept our signatures, and we accept theirs", async () => {
    for (const body of [BODY, SALARY]) {
      const ours = await webhooks.sign(body, SECRET);
      for (const theirs of [new StandardWebhook(SECRET), new SvixWebhook(SECRET)]) {
        theirs.verify(body, ours);
        expect(() => theirs.verify(`${body} `, ours)).toThrow(/signature/);
        const now = new Date(Math.floor(Date.now() / 1000) * 1000);
        const headers = standardHeaders(theirs.sign(ID, now, body), now);
        expect(await webhooks.verify(body, headers, SECRET)).toEqual(JSON.parse(body));
      }
    }
  });

  it("standardwebhooks agrees about custom secrets", async () => {
    const theirs = new StandardWebhook(RAW_SECRET, { format: "raw" });
    expect(theirs.verify(BODY, await webhooks.sign(BODY, RAW_SECRET))).toEqual(JSON.parse(BODY));
  });
});
