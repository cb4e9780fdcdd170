export const HOME = "/dashboard";
/** Where the second factor is asked for. */
export const FACTOR_PATH = "/second-factor";
/** Where the password or the second factor is asked for again. */
export const CONFIRM_PATH = "/confirm";
export const SECURITY_PATH = "/dashboard/security";
/** Where an authenticator app is set up. */
export const ENROL_PATH = `${SECURITY_PATH}/second-factor`;
export const PASSKEYS_PATH = `${SECURITY_PATH}/passkeys`;
/** Where a passkey is added. */
export const NEW_PASSKEY_PATH = `${PASSKEYS_PATH}/new`;
export const PASSKEY_SIGN_IN_PATH = "/sign-in/passkey";
