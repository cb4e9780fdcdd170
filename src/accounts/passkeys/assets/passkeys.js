// Forms with data-passkey are sent with what a passkey signed. They are shown where the browser has
// passkeys; a form that also takes a code asks for a passkey only if no code was entered.
const forms = document.querySelectorAll("form[data-passkey]");
const has_passkeys = typeof PublicKeyCredential === "function" && "credentials" in navigator;

for (const form of has_passkeys ? forms : []) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    const { credential, code } = form.elements;
    if (credential.value !== "" || code?.value.trim()) return;
    event.preventDefault();
    askFor(form, event.submitter);
  });
}
for (const element of document.querySelectorAll("[data-without-passkeys]")) {
  element.hidden = has_passkeys;
}
for (const element of document.querySelectorAll("[data-with-passkeys]")) {
  element.hidden = !has_passkeys;
}

// A page that the browser kept would send the same passkey again.
addEventListener("pageshow", () => {
  for (const form of forms) {
    form.elements.credential.value = "";
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
});

async function askFor(form, button) {
  const problem = form.querySelector("[data-problem]");
  problem.hidden = true;
  button.disabled = true;
  try {
    const options = await requestChallenge(form);
    if (options === null) return;
    const credential =
      form.dataset.passkey === "create"
        ? await navigator.credentials.create({ publicKey: options })
        : await navigator.credentials.get({ publicKey: options });
    form.elements.credential.value = JSON.stringify(jsonOf(credential));
    button.disabled = false;
    form.requestSubmit(button);
  } catch (error) {
    button.disabled = false;
    problem.textContent = textOf(error);
    problem.hidden = false;
    button.focus();
  }
}

/** Null when the person has to go to another page first. */
async function requestChallenge(form) {
  const answer = await fetch(form.dataset.challenge, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ csrf: form.elements.csrf.value }),
  });
  if (answer.redirected) {
    location.assign(answer.url);
    return null;
  }
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body.message);
  return optionsOf(body);
}

class Refused extends Error {}

const TEXTS = {
  NotAllowedError: "No passkey was used. Try again, or choose another way.",
  InvalidStateError: "This device has a passkey for you already.",
  SecurityError: "Passkeys work only at the public URL of this service. Open it there.",
  NotSupportedError: "This device cannot create a passkey that is accepted here.",
  ConstraintError: "This device cannot verify you by fingerprint, face or PIN.",
};

function textOf(error) {
  if (error instanceof Refused) return error.message;
  return TEXTS[error.name] ?? "That did not work. Try again, or choose another way.";
}

/** Bytes instead of their texts; `parseRequestOptionsFromJSON` is missing in older browsers. */
function optionsOf(json) {
  const options = { ...json, challenge: bytesOf(json.challenge) };
  if (json.user) options.user = { ...json.user, id: bytesOf(json.user.id) };
  for (const name of ["allowCredentials", "excludeCredentials"]) {
    if (json[name]) options[name] = json[name].map((one) => ({ ...one, id: bytesOf(one.id) }));
  }
  return options;
}

function jsonOf(credential) {
  const { response } = credential;
  const fields = { clientDataJSON: textOfBytes(response.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (response[name]) fields[name] = textOfBytes(response[name]);
  }
  if (response.getTransports) fields.transports = response.getTransports();
  const id = textOfBytes(credential.rawId);
  return { id, rawId: id, type: credential.type, response: fields, clientExtensionResults: {} };
}

function bytesOf(text) {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function textOfBytes(bytes) {
  const characters = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte));
  return btoa(characters.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
