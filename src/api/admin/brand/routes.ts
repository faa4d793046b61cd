import { readIso } from '../../../core/time.ts'
import { isAnnounced } from '../../../domains/brand/rules.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import {
  getAnnouncement,
  getBrand,
  setAnnouncement,
  setBrand,
  setBrandImage,
  setBrandText,
  toAnnouncement,
  toBrand,
} from './shapes.ts'

const instantOf = (text: string | undefined) => (text === undefined ? undefined : readIso(text))
const lineOf = (text: string | undefined): string | undefined => text?.trim() || undefined

export const adminBrandOperations = (bind: BindAdmin, { brands, clock }: AdminDeps) => [
  bind(getAnnouncement, async () => {
    const found = await brands.announced()
    return toAnnouncement(found, isAnnounced(found, clock()))
  }),
  bind(setAnnouncement, async ({ body }) => {
    const [en, ru] = [lineOf(body.text_en), lineOf(body.text_ru)]
    const texts = { ...(en !== undefined && { en }), ...(ru !== undefined && { ru }) }
    const times = { fromAt: instantOf(body.from), untilAt: instantOf(body.until) }
    const made = await brands.announce({ texts, ...times })
    return toAnnouncement(made, isAnnounced(made, clock()))
  }),
  bind(getBrand, async () => toBrand(await brands.current())),
  bind(setBrand, async ({ body: { dry_run: isDryRun, ...lines } }) =>
    toBrand(await (isDryRun ? brands.previewLines(lines) : brands.setLines(lines))),
  ),
  bind(setBrandText, async ({ params, body }) =>
    toBrand(await brands.setText(params.text_name, body.language, body.text)),
  ),
  bind(setBrandImage, async ({ params, body }) => toBrand(await brands.setImage(params.image_name, body.content))),
]
