export const HOME = "/dashboard";
/** Where the second factor is asked for. */
export const FACTOR_PATH = "/second-factor";
/** Where the password or the second factor is asked for again. */
export const CONFIRM_PATH = "/confirm";
export const SECURITY_PATH = "/dashboard/security";
/** Where the second factor is set up. */
export const ENROL_PATH = `${SECURITY_PATH}/second-factor`;
