// SPDX-License-Identifier: MIT OR Apache-2.0
// Distance of every record of a database from a target, both in degrees. A thread a record; the host picks the nearest.

extern "C" __global__ void nn_distances(const float2 *__restrict__ records, float *__restrict__ distances, int count,
                                        float latitude, float longitude)
{
    int at = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (at >= count)
        return;
    float2 place = records[at];
    float north = latitude - place.x, east = longitude - place.y;
    distances[at] = sqrtf(fmaf(north, north, east * east));
}
