import type { User } from "@sliproad/sdk";

/** The company of a business, the name of a person, else the e-mail address. */
export function nameOfPerson({ company_name, first_name, last_name, email }: User): string {
  return company_name || [first_name, last_name].filter(Boolean).join(" ") || email;
}
