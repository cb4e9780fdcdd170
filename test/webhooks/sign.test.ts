import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { makeWebhookSecret, standardForm } from "../../src/apps/webhook-secrets.ts";
import { readSecret, secretsAt, signatureHeaders } from "../../src/webhooks/delivery/sign.ts";

const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PLAIN = "my-plain-secret";
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY =
  '{"variant":"svc_invoice","event":"create","timestamp":1720605600000,' +
  '"invoice":{"id":"63f2f5a7f00a45f276585b28"}}';
const NON_ASCII =
  '{"variant":"svc_salary","event":"paid","timestamp":1720605600001,' +
  '"invoice":{"id":"x","note":"Señor €"}}';

function sign(secret: string, body: string, timestamp_s = 1720605600) {
  const secrets = { current: readSecret(secret), next: null };
  return signatureHeaders(secrets, { id: ID, timestamp_s, body: Buffer.from(body) });
}

describe("X-Webhook-Signature", () => {
  it.each([
    [STANDARD, BODY, "02d2c8e431b9f718be25f4354137a5c1b6da15c2a5f88b0acfc89b6662207206"],
    [PLAIN, BODY, "e8d4a98b674883812e8306ef4c50d2944222427e2b8374d1d72e7d674f20af0e"],
    [STANDARD, NON_ASCII, "4203d410aa764b45aada27e8a83cf5ae0ee742d28e5a16c8f8813ee36b694ee1"],
  ])("is the HMAC of the raw body keyed with the secret's text: %s", (secret, body, hex) => {
    expect(sign(secret, body)["x-webhook-signature"]).toBe(hex);
  });

  it("agrees with the vector that another sender publishes", () => {
    expect(sign("It's a Secret to Everybody", "Hello, World!")["x-webhook-signature"]).toBe(
      "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    );
  });
});

describe("webhook-signature", () => {
  it.each([
    [STANDARD, '{"test": 2432232314}', 1614265330, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="],
    [STANDARD, BODY, 1720605600, "OZ+WxHEPa+cwHzme3sN/DjTGDbxJmCScN/ZyflArEy4="],
    [PLAIN, BODY, 1720605600, "ezY2ITlppei9VEdhQ9JcH/uA5lLpab7uMQyss8JmUlU="],
  ])("follows Standard Webhooks: %s %s", (secret, body, timestamp_s, expected) => {
    expect(sign(secret, body, timestamp_s)["webhook-signature"]).toBe(`v1,${expected}`);
  });

  it("a custom secret has a form that the libraries accept", () => {
    expect(standardForm(PLAIN)).toBe("whsec_bXktcGxhaW4tc2VjcmV0");
    expect(standardForm(STANDARD)).toBe(STANDARD);
    // Looks like one of ours, but the rest is not base64.
    const odd = "whsec_not*base64*at*all";
    const now_s = Math.floor(Date.now() / 1000);
    const headers = sign(odd, BODY, now_s);
    expect(new Webhook(standardForm(odd)).verify(BODY, headers)).toEqual(JSON.parse(BODY));
  });

  it("is refused by the library for another body, secret, id or time", () => {
    const now_s = Math.floor(Date.now() / 1000);
    const headers = sign(STANDARD, BODY, now_s);
    const webhook = new Webhook(STANDARD);
    expect(() => webhook.verify(`${BODY} `, headers)).toThrow();
    expect(() => new Webhook(makeWebhookSecret()).verify(BODY, headers)).toThrow();
    expect(() => webhook.verify(BODY, { ...headers, "webhook-id": "other" })).toThrow();
    expect(() => webhook.verify(BODY, sign(STANDARD, BODY, now_s - 600))).toThrow();
  });
});

describe("a rotation", () => {
  const switch_at = new Date("2026-11-16T00:00:00Z");
  const rotation = { current: readSecret(STANDARD), next: readSecret(PLAIN), switch_at };
  const at = (time: string) => {
    const secrets = secretsAt(rotation, new Date(time));
    return signatureHeaders(secrets, { id: ID, timestamp_s: 1720605600, body: Buffer.from(BODY) });
  };

  it("keeps the old secret in the interface's header and has both in Standard's", () => {
    const headers = at("2026-11-15T23:59:59.999Z");
    expect(headers["x-webhook-signature"]).toBe(sign(STANDARD, BODY)["x-webhook-signature"]);
    expect(headers["webhook-signature"]).toBe(
      `${sign(STANDARD, BODY)["webhook-signature"]} ${sign(PLAIN, BODY)["webhook-signature"]}`,
    );
  });

  it("ends with the new secret alone", () => {
    expect(at("2026-11-16T00:00:00Z")).toEqual(sign(PLAIN, BODY));
  });
});
