/** What a header's name is made of. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Whatever could end a header's line, or is seen otherwise by others. */
export const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
