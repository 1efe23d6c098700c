/** What can go wrong with a call. */

/** `status` 0 means that no server answered; `code` is the server's word for the problem, `field` the path of what is wrong. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly field: string | null = null,
  ) {
    super(detail);
  }
}

/** Whatever was thrown, as a problem. */
export const problemOf = (error: unknown): ApiError => (error instanceof ApiError ? error : new ApiError(0, "internal", String(error)));
