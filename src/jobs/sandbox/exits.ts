import type { NewExit } from '../../domains/premium/exits/rules.ts'

/** Four real places in each country, as state, city and postal code, so that filters find some and miss some. */
const spots: Readonly<Record<string, readonly string[]>> = {
  DE: ['Berlin; Berlin; 10115', 'Bayern; München; 80331', 'Hessen; Frankfurt; 60311', 'Hamburg; Hamburg; 20095'],
  FR: [
    'Île-de-France; Paris; 75001',
    'Auvergne-Rhône-Alpes; Lyon; 69001',
    "Provence-Alpes-Côte d'Azur; Marseille; 13001",
    'Occitanie; Toulouse; 31000',
  ],
  GB: [
    'England; London; SW1A 1AA',
    'England; Manchester; M1 1AE',
    'Scotland; Edinburgh; EH1 1YZ',
    'Wales; Cardiff; CF10 1EP',
  ],
  NL: [
    'Noord-Holland; Amsterdam; 1012',
    'Zuid-Holland; Rotterdam; 3011',
    'Utrecht; Utrecht; 3511',
    'Noord-Brabant; Eindhoven; 5611',
  ],
  RU: [
    'Moscow; Moscow; 101000',
    'Saint Petersburg; Saint Petersburg; 190000',
    'Novosibirsk Oblast; Novosibirsk; 630000',
    'Tatarstan; Kazan; 420000',
  ],
  US: [
    'New York; New York; 10001',
    'California; Los Angeles; 90001',
    'Illinois; Chicago; 60601',
    'Texas; Houston; 77001',
  ],
}

/** Two networks of each kind in each country. */
const networks: Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>> = {
  home: {
    DE: [3320, 31334],
    FR: [3215, 12322],
    GB: [2856, 5607],
    NL: [1136, 33915],
    RU: [12389, 8402],
    US: [7018, 7922],
  },
  mobile: {
    DE: [3209, 6805],
    FR: [15557, 51207],
    GB: [12576, 25135],
    NL: [31615, 50266],
    RU: [8359, 25159],
    US: [21928, 6167],
  },
  hosting: {
    DE: [24940, 51167],
    FR: [16276, 12876],
    GB: [20860, 9009],
    NL: [60781, 49981],
    RU: [9123, 197695],
    US: [14061, 20473],
  },
}

const pools = [
  { name: 'residential', network: 'home' },
  { name: 'datacenter', network: 'hosting' },
  { name: 'mobile', network: 'mobile' },
  { name: 'residential_premium', network: 'home' },
] as const

const exitsInCountry = 8

/** Eight exits for every pool in each country, each on a loopback address of its own from 127.100.0.1 on. */
export function sandboxExits(): NewExit[] {
  return pools.flatMap(({ name, network }, poolIndex) =>
    Object.entries(spots).flatMap(([country, locations], countryIndex) =>
      Array.from({ length: exitsInCountry }, (_, index): NewExit => {
        const [state = '', city = '', zip = ''] = locations[index % locations.length]?.split('; ') ?? []
        const asns = networks[network]?.[country]
        return {
          pool: name,
          kind: 'local',
          host: `127.${100 + poolIndex}.${countryIndex}.${index + 1}`,
          port: null,
          credentials: null,
          country,
          state,
          city,
          zip,
          asn: asns?.[Math.floor(index / locations.length) % 2] ?? null,
        }
      }),
    ),
  )
}
