import type { AdminDeps, BindAdmin } from '../bind.ts'
import { getBrand, setBrand, setBrandImage, setBrandText, toBrand } from './shapes.ts'

export const adminBrandOperations = (bind: BindAdmin, { brands }: AdminDeps) => [
  bind(getBrand, async () => toBrand(await brands.current())),
  bind(setBrand, async ({ body }) => toBrand(await brands.setLines(body))),
  bind(setBrandText, async ({ params, body }) =>
    toBrand(await brands.setText(params.text_name, body.language, body.text)),
  ),
  bind(setBrandImage, async ({ params, body }) => toBrand(await brands.setImage(params.image_name, body.content))),
]
