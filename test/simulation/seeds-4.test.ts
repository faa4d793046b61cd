import { testSeeds } from './short-seeds.ts'

testSeeds(151, 200)
