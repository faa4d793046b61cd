import { z } from 'zod'
import { keyKinds } from '../core/device-places.ts'

/** Items of a request. */
export const maxPlaces = 500

/** The family of its network (`4` or `6`), and 16 hex digits of a digest. */
const place = z.string().regex(/^[46][0-9a-f]{16}$/)

/**
 * `POST /node/v1/places`: machines that use VPN devices at this gateway. A new one wants to open its first tunnel; the
 * others have been active at that time.
 */
export const placesBodySchema = z.object({
  places: z
    .array(
      z.object({
        device: z.string().max(64),
        place,
        active_at: z.int().nonnegative(),
        is_new: z.boolean(),
        /** Which key the machine has presented: one of the device, or of the device for an exit behind this gateway. */
        key: z.enum(keyKinds),
        exit: z.string().max(64).optional(),
        /** `proofOfKey`: this gateway has seen that key. */
        proof: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .max(maxPlaces),
})
export type PlacesBody = z.infer<typeof placesBodySchema>

/** Those that may not use their device: its subscription has as many machines as it may have. */
export const placesAnswerSchema = z.object({ refused: z.array(z.object({ device: z.string(), place: z.string() })) })
